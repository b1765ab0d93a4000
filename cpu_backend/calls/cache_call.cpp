#include "cpu_backend/calls/cache_call.hpp"

#include <cstring>
#include <string>

#include "core/numeric/fp8.hpp"
#include "core/say.hpp"

namespace mla::cpu {
namespace {

void write_part(const CacheWrite& w, const SourceRows& part, std::int64_t token, std::int64_t to) {
  const std::int64_t size = element_bytes(w.type);
  const std::byte* from = part.data + token * part.row_stride * size;
  if (!w.fp8) {
    std::memcpy(w.cache + to * size, from, static_cast<std::size_t>(part.width * size));
    return;
  }
  const float inverse = 1.0F / w.scale;
  for (std::int64_t i = 0; i < part.width; ++i)
    w.cache[to + i] =
        std::byte{fp8_from_float(read_element(from + i * size, w.type) * inverse, w.variant)};
}

}  // namespace

std::vector<Fault> concat_and_cache(const CacheWrite& w) {
  std::vector<Fault> faults;
  const std::int64_t slots = w.blocks * w.block_size;
  for (std::size_t t = 0; t < w.slots.size(); ++t) {
    const std::int64_t slot = w.slots[t];
    if (slot < 0) continue;
    if (slot >= slots) {
      faults.push_back(
          {say("slot_mapping[", t, "] is ", slot, ", which is not in [0, ", slots, ")"), -1, -1});
      continue;
    }
    const std::int64_t to =
        slot / w.block_size * w.block_stride + slot % w.block_size * w.entry_stride;
    write_part(w, w.latent, static_cast<std::int64_t>(t), to);
    write_part(w, w.rope, static_cast<std::int64_t>(t), to + w.latent.width);
  }
  return faults;
}

}  // namespace mla::cpu

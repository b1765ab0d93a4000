#include "cpu_backend/calls/cache_call.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"

namespace mla::cpu {
namespace {

float f16_to_float(std::uint16_t bits) {
  const float sign = (bits & 0x8000U) != 0 ? -1.0F : 1.0F;
  const int exponent = (bits >> 10U) & 0x1F;
  const auto fraction = static_cast<float>(bits & 0x3FFU);
  if (exponent == 0x1F)
    return fraction == 0 ? sign * INFINITY : std::numeric_limits<float>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024.0F + fraction, exponent - 25);
}

template <class T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

float to_float(const std::byte* at, SourceType type) {
  switch (type) {
    case SourceType::bf16:
      return bf16_to_float(read<std::uint16_t>(at));
    case SourceType::f16:
      return f16_to_float(read<std::uint16_t>(at));
    case SourceType::f32:
      break;
  }
  return read<float>(at);
}

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
        std::byte{fp8_from_float(to_float(from + i * size, w.type) * inverse, w.variant)};
}

}  // namespace

std::int64_t element_bytes(SourceType type) {
  return type == SourceType::f32 ? 4 : 2;
}

std::vector<Fault> concat_and_cache(const CacheWrite& w) {
  std::vector<Fault> faults;
  const std::int64_t slots = w.blocks * w.block_size;
  for (std::size_t t = 0; t < w.slots.size(); ++t) {
    const std::int64_t slot = w.slots[t];
    if (slot < 0) continue;
    if (slot >= slots) {
      faults.push_back({"slot_mapping[" + std::to_string(t) + "] is " + std::to_string(slot) +
                            ", which is not in [0, " + std::to_string(slots) + ")",
                        -1, -1});
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

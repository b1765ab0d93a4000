#include "cpu_backend/calls/rope_cache_call.hpp"

#include <algorithm>
#include <string>

#include "core/numeric/fp8.hpp"
#include "core/say.hpp"

namespace mla::cpu {
namespace {

// Where elements go, and as what.
struct Sink {
  std::byte* at;
  SourceType type;
  bool fp8;
  Fp8Variant variant;
  float inverse;

  void put(std::int64_t i, float value) const {
    if (fp8) {
      at[i] = std::byte{fp8_from_float(value * inverse, variant)};
    } else {
      write_element(value, type, at + i * element_bytes(type));
    }
  }
};

Sink sink(const RopeCacheWrite& w, std::byte* base, std::int64_t elements, bool fp8, float scale) {
  const std::int64_t size = fp8 ? 1 : element_bytes(w.type);
  return {base + elements * size, w.type, fp8, w.variant, 1.0F / scale};
}

const std::byte* row_of(const RopeCacheWrite& w, const RopeRows& rows, std::int64_t token,
                        std::int64_t head) {
  return rows.data + (token * rows.token_stride + head * rows.head_stride) * element_bytes(w.type);
}

void copy_row(const RopeCacheWrite& w, const std::byte* from, std::int64_t width, const Sink& to) {
  const std::int64_t size = element_bytes(w.type);
  for (std::int64_t i = 0; i < width; ++i) to.put(i, read_element(from + i * size, w.type));
}

void rotate_row(const RopeCacheWrite& w, const std::byte* from, std::int64_t width,
                std::int64_t position, const Sink& to) {
  const std::int64_t size = element_bytes(w.type);
  const std::int64_t half = width / 2;
  const RopeTable& t = w.table;
  for (std::int64_t i = 0; i < half; ++i) {
    const std::int64_t first = t.neox ? i : 2 * i;
    const std::int64_t second = t.neox ? i + half : 2 * i + 1;
    const float x = read_element(from + first * size, w.type);
    const float y = read_element(from + second * size, w.type);
    const float cos = read_element(t.cos + (position * t.cos_stride + i) * size, w.type);
    const float sin = read_element(t.sin + (position * t.sin_stride + i) * size, w.type);
    to.put(first, x * cos - y * sin);
    to.put(second, y * cos + x * sin);
  }
}

void write_query(const RopeCacheWrite& w, std::int64_t token, std::int64_t position) {
  const std::int64_t latent = w.nope_first ? 0 : w.q_pe.width;
  const std::int64_t rope = w.nope_first ? w.q_nope.width : 0;
  for (std::int64_t head = 0; head < w.heads; ++head) {
    const std::int64_t to = token * w.q_out_token_stride + head * w.q_out_head_stride;
    copy_row(w, row_of(w, w.q_nope, token, head), w.q_nope.width,
             sink(w, w.q_out, to + latent, w.q_fp8, w.q_scale));
    rotate_row(w, row_of(w, w.q_pe, token, head), w.q_pe.width, position,
               sink(w, w.q_out, to + rope, w.q_fp8, w.q_scale));
  }
}

void write_key(const RopeCacheWrite& w, std::int64_t token, std::int64_t slot,
               std::int64_t position) {
  const KeyPlaces& c = w.cache;
  const std::int64_t block = slot / c.block_size * c.block_stride;
  const std::int64_t entry = slot % c.block_size;
  for (std::int64_t head = 0; head < w.kv_heads; ++head) {
    const std::int64_t to = block + head * c.head_stride;
    copy_row(
        w, row_of(w, w.kv_c, token, head), w.kv_c.width,
        sink(w, c.data, to + c.latent_start + entry * c.latent_stride, w.cache_fp8, w.k_scale));
    rotate_row(w, row_of(w, w.k_pe, token, head), w.k_pe.width, position,
               sink(w, c.data, to + c.rope_start + entry * c.rope_stride, w.cache_fp8, w.k_scale));
  }
}

Fault outside(const char* list, std::int64_t token, std::int64_t value, std::int64_t end) {
  return {say(list, "[", token, "] is ", value, ", which is not in [0, ", end, ")"), -1, -1};
}

}  // namespace

std::vector<Fault> rope_and_cache(const RopeCacheWrite& w) {
  std::vector<Fault> faults;
  const std::int64_t slots = w.cache.blocks * w.cache.block_size;
  for (std::size_t t = 0; t < w.slots.size(); ++t) {
    const auto token = static_cast<std::int64_t>(t);
    const std::int64_t slot = w.slots[t];
    std::int64_t position = w.positions[t];
    if ((slot < 0 || w.clamps) && w.table.positions > 0)
      position = std::clamp<std::int64_t>(position, 0, w.table.positions - 1);
    if (slot < 0) {
      if (w.all_queries && w.table.positions > 0) write_query(w, token, position);
      continue;
    }
    if (slot >= slots) {
      faults.push_back(outside("slot_mapping", token, slot, slots));
    } else if (position < 0 || position >= w.table.positions) {
      faults.push_back(outside("positions", token, position, w.table.positions));
    } else {
      write_query(w, token, position);
      write_key(w, token, slot, position);
    }
  }
  return faults;
}

}  // namespace mla::cpu

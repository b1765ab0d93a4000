#include "core/time/terms.hpp"

#include <algorithm>
#include <cmath>

namespace mla::timing {
namespace {

// There are constants for these widths alone (constants_for()).
constexpr double kFlopsOfKeyAndRow = 2.0 * (kBuiltIn.key().count() + kBuiltIn.value().count());
constexpr double kPartialBytesOfRow = 4.0 * kBuiltIn.value().count();  // f32

double bytes(Dtype dtype) {
  return static_cast<double>(kBuiltIn.key_bytes(dtype));
}

// For each of the slots, in ascending order of their keys: sum over all of min(keys, own keys).
std::vector<double> keys_until(const std::vector<SlotLoad>& ascending) {
  std::vector<double> out;
  out.reserve(ascending.size());
  double before = 0;
  for (std::size_t s = 0; s < ascending.size(); ++s) {
    const auto own = static_cast<double>(ascending[s].keys);
    out.push_back(before + own * static_cast<double>(ascending.size() - s));
    before += own;
  }
  return out;
}

}  // namespace

Stage1Costs stage1_costs(const TimeConstants& c, const TileCost& tile, std::int64_t tile_rows,
                         std::int64_t moved_rows) {
  const double row = bytes(c.dtype.q) + kPartialBytesOfRow;
  return {.piece_us = tile.piece_us,
          .idle_us = c.idle_us,
          .key_us = tile.key_ns / 1000,
          .memory_us = bytes(c.dtype.kv) / c.memory_bytes_per_us,
          .matrix_us =
              tile.matrix_flops_per_us > 0
                  ? static_cast<double>(tile_rows) * kFlopsOfKeyAndRow / tile.matrix_flops_per_us
                  : 0,
          .moved_rows_us = static_cast<double>(moved_rows) * row / c.memory_bytes_per_us};
}

std::vector<double> slot_times(std::vector<SlotLoad> slots, const Stage1Costs& c) {
  std::ranges::sort(slots, {}, &SlotLoad::keys);
  const std::vector<double> keys = keys_until(slots);
  std::vector<double> out;
  out.reserve(slots.size());
  for (std::size_t s = 0; s < slots.size(); ++s) {
    const double share = keys.back() > 0 ? keys[s] / keys.back() : 0;
    const double memory = keys[s] * c.memory_us + c.moved_rows_us * share;
    const double matrix = keys[s] * c.matrix_us;
    const double own = static_cast<double>(slots[s].keys) * c.key_us;
    out.push_back(static_cast<double>(slots[s].pieces) * c.piece_us +
                  static_cast<double>(slots[s].idle) * c.idle_us +
                  std::sqrt(own * own + memory * memory + matrix * matrix));
  }
  return out;
}

double reduce_us(const TimeConstants& c, std::int64_t longest_merge, std::int64_t partial_rows) {
  if (longest_merge == 0) return 0;
  return c.reduce_start_us + static_cast<double>(longest_merge) * c.reduce_piece_us +
         static_cast<double>(partial_rows) * kPartialBytesOfRow / c.reduce_bytes_per_us;
}

}  // namespace mla::timing

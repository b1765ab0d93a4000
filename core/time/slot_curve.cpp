#include "core/time/slot_curve.hpp"

#include <algorithm>
#include <cmath>

namespace mla::timing {

SlotCurve SlotCurve::shared(const Stage1Costs& costs, std::int64_t block_keys, std::int64_t busy) {
  const auto keys = static_cast<double>(block_keys);
  SlotCurve out;
  out.piece_us_ = costs.piece_us;
  out.own_us_ = costs.key_us * keys;
  out.all_us_ = std::hypot(costs.memory_us, costs.matrix_us) * keys;
  out.parts_ = {{0, 0, static_cast<double>(busy)}};
  return out;
}

SlotCurve SlotCurve::of_draft(const Stage1Costs& costs, const DraftTiles& tiles,
                              const Draft& draft) {
  SlotCurve out = shared(costs, tiles.block_keys, 0);
  std::vector<std::int64_t> blocks(static_cast<std::size_t>(tiles.slots));
  double sum = 0;
  for (const DraftPiece& p : draft) {
    blocks[static_cast<std::size_t>(p.slot)] += p.blocks;
    sum += static_cast<double>(p.blocks);
  }
  const auto keys = static_cast<double>(tiles.block_keys);
  out.all_us_ =
      std::hypot(costs.memory_us * keys + costs.moved_rows_us / sum, costs.matrix_us * keys);
  std::ranges::sort(blocks);
  out.parts_.clear();
  double before = 0;
  for (std::size_t s = 0; s < blocks.size(); ++s) {
    const auto begin = s == 0 ? 0 : static_cast<double>(blocks[s - 1]);
    const auto longer = static_cast<double>(blocks.size() - s);
    if (s == 0 || blocks[s] != blocks[s - 1]) out.parts_.push_back({begin, before, longer});
    before += static_cast<double>(blocks[s]);
  }
  out.parts_.push_back({static_cast<double>(blocks.back()), before, 0});
  return out;
}

double SlotCurve::keys_time(const Part& part, double blocks) const {
  const double own = own_us_ * blocks;
  const double all = all_us_ * (part.from + part.slope * blocks);
  return std::sqrt(own * own + all * all);
}

double SlotCurve::time(std::int64_t pieces, std::int64_t blocks) const {
  const auto k = static_cast<double>(blocks);
  const auto after = std::ranges::upper_bound(parts_, k, {}, &Part::begin);
  return static_cast<double>(pieces) * piece_us_ + keys_time(*std::prev(after), k);
}

std::int64_t SlotCurve::most_blocks(std::int64_t pieces, double end) const {
  const double left = end - static_cast<double>(pieces) * piece_us_;
  if (left <= 0) return 0;
  const auto after = std::ranges::partition_point(
      parts_, [&](const Part& part) { return keys_time(part, part.begin) <= left; });
  // The time at 0 blocks is 0, so that the first part is always in front.
  const Part& part = *std::prev(after);
  // (own k)^2 + (all (from + slope k))^2 = left^2
  const double all2 = all_us_ * all_us_;
  const double a = own_us_ * own_us_ + all2 * part.slope * part.slope;
  const double half_b = all2 * part.slope * part.from;
  const double c = all2 * part.from * part.from - left * left;
  const double root = std::sqrt(std::max(0.0, half_b * half_b - a * c));
  return static_cast<std::int64_t>((root - half_b) / a);
}

}  // namespace mla::timing

#include "core/time/plan_search.hpp"

#include <algorithm>
#include <cmath>

#include "core/time/draft_moves.hpp"
#include "core/time/draft_packer.hpp"
#include "core/time/makespan_bound.hpp"
#include "core/time/plan_draft.hpp"
#include "core/units.hpp"

namespace mla::timing {
namespace {

// How far a draft may end after the bound, as a share of it, in the order in which they are tried.
constexpr double kSlack[] = {0, 0.01, 0.03, 0.08, 0.16, 0.32, 0.64, 1.28};
constexpr std::size_t kRefined = 3;  // best drafts that are placed anew and moved
constexpr int kPlacings = 7;
// A cap whose bound is this much above the best draft is left out. The bound counts all slots as
// sharing the memory to the end, and so may be somewhat above a plan.
constexpr double kHopeless = 1.1;

struct Candidate {
  std::int64_t most_pieces = 0;
  Draft draft;
  double predicted_us = 0;  // without what every plan costs
  bool at_bound = false;    // no slot ends after the bound
};

class Search {
 public:
  Search(const DraftTiles& tiles, const TimeConstants& constants, const TileCost& tile)
      : tiles_(tiles), constants_(constants), tile_(tile), packer_(tiles) {
    for (const DraftTile& t : tiles_.tiles) {
      blocks_.push_back(t.blocks);
      longest_ = std::max(longest_, t.blocks);
    }
  }

  // The best draft that was found; empty if there is none.
  Draft run() {
    for (const std::int64_t cap : coarse_caps()) consider(cap);
    // Between the best cap and its neighbours, twice.
    for (int round = 0; round < 2 && !found_.empty(); ++round)
      for (const std::int64_t cap : caps_beside(best().most_pieces)) consider(cap);
    std::ranges::sort(found_, {}, &Candidate::predicted_us);
    if (found_.size() > kRefined) found_.resize(kRefined);
    for (Candidate& c : found_) refine(c);
    return found_.empty() ? Draft() : best().draft;
  }

 private:
  [[nodiscard]] const Candidate& best() const {
    return *std::ranges::min_element(found_, {}, &Candidate::predicted_us);
  }

  [[nodiscard]] std::int64_t most_cap() const { return std::min(tiles_.most_pieces, longest_); }
  [[nodiscard]] std::vector<std::int64_t> coarse_caps() const {
    std::vector<std::int64_t> caps;
    for (std::int64_t cap = 1; cap < most_cap(); cap += std::max<std::int64_t>(1, cap / 2))
      caps.push_back(cap);
    caps.push_back(most_cap());
    return caps;
  }
  // Two on either side, evenly between this cap and the next one that was tried.
  [[nodiscard]] std::vector<std::int64_t> caps_beside(std::int64_t cap) const {
    std::int64_t below = 0;
    std::int64_t above = most_cap() + 1;
    for (const std::int64_t t : tried_) {
      if (t < cap) below = std::max(below, t);
      if (t > cap) above = std::min(above, t);
    }
    std::vector<std::int64_t> caps;
    for (const std::int64_t part : {1, 2}) {
      caps.push_back(below + (cap - below) * part / 3);
      caps.push_back(cap + (above - cap) * part / 3);
    }
    std::erase_if(caps, [&](std::int64_t c) { return c <= below || c >= above || c == cap; });
    return caps;
  }

  // If all slots that have work at this cap share the device.
  [[nodiscard]] SlotCurve curve_at(std::int64_t cap) const {
    std::int64_t busy = 0;
    for (const std::int64_t n : blocks_) busy += std::min(n, cap);
    return SlotCurve::shared(stage1_costs(constants_, tile_, tiles_.tile_rows, 0),
                             tiles_.block_keys, std::min(busy, tiles_.slots));
  }

  // The cap is a limit of the longest tile alone, so that its part of the bound can be added.
  // Whole nanoseconds; `curve` is shared, a straight line.
  double bound_at(std::int64_t cap, const SlotCurve& curve) {
    const auto nanoseconds = [](double us) { return std::llround(us * 1000); };
    const std::int64_t piece = nanoseconds(curve.piece_us());
    const std::int64_t block = std::max<std::int64_t>(1, nanoseconds(curve.time(0, 1)));
    if (block != bound_block_) {
      bound_block_ = block;
      bound_ = makespan_bound({blocks_, tiles_.slots, 0, piece, block});
    }
    return static_cast<double>(std::max(bound_, piece + ceil_div(longest_, cap) * block)) / 1000;
  }

  // The pieces that the longest tile needs to end by the bound are merged whatever the draft. Below
  // the cap, a smaller cap has the same bound.
  [[nodiscard]] bool cannot_win(std::int64_t cap, double bound, const SlotCurve& curve) const {
    if (found_.empty()) return false;
    const std::int64_t full = std::max<std::int64_t>(1, curve.most_blocks(1, bound));
    const std::int64_t needed = ceil_div(longest_, full);
    const bool again = std::ranges::any_of(found_, [&](const Candidate& other) {
      return other.at_bound && other.most_pieces >= needed && other.most_pieces <= cap;
    });
    const double least = bound + reduce_us(constants_, needed > 1 ? needed : 0, 0);
    return again || least > best().predicted_us * kHopeless;
  }

  void consider(std::int64_t cap) {
    if (std::ranges::find(tried_, cap) != tried_.end()) return;
    tried_.push_back(cap);
    Candidate c{.most_pieces = cap, .draft = {}};
    const SlotCurve curve = curve_at(cap);
    const double bound = bound_at(cap, curve);
    if (cannot_win(cap, bound, curve)) return;
    for (const double slack : kSlack) {
      if (!packer_.pack(curve, bound * (1 + slack), cap, c.draft) || !has_room(c.draft)) continue;
      c.predicted_us = time_of(c.draft);
      c.at_bound = slack == kSlack[0];
      found_.push_back(std::move(c));
      return;
    }
  }

  // Slots that are done early leave the device to the others, so that fewer pieces allow more keys
  // than a straight line says. With the curve of its own slots the draft is placed anew, as early
  // as it can be, and moved.
  void refine(Candidate& c) {
    const SlotCurve curve = SlotCurve::of_draft(stage1_of(c.draft), tiles_, c.draft);
    double late = slowest_of(c.draft);
    double early = late * 0.8;
    Candidate anew = c;
    Draft placed;
    for (int i = 0; i < kPlacings; ++i) {
      const double end = (early + late) / 2;
      if (packer_.pack(curve, end, c.most_pieces, placed) && has_room(placed)) {
        late = end;
        std::swap(anew.draft, placed);
        take_if_better(anew, c);
      } else {
        early = end;
      }
    }
    anew.draft = c.draft;
    improve(tiles_, SlotCurve::of_draft(stage1_of(c.draft), tiles_, c.draft), c.most_pieces,
            anew.draft);
    take_if_better(anew, c);
  }
  void take_if_better(Candidate& anew, Candidate& c) const {
    anew.predicted_us = time_of(anew.draft);
    if (anew.predicted_us < c.predicted_us) c = anew;
  }

  [[nodiscard]] std::vector<std::int64_t> pieces_of(const Draft& draft) const {
    std::vector<std::int64_t> pieces(tiles_.tiles.size());
    for (const DraftPiece& p : draft) ++pieces[static_cast<std::size_t>(p.tile)];
    return pieces;
  }
  [[nodiscard]] bool has_room(const Draft& draft) const {
    std::int64_t merged = 0;
    for (const std::int64_t n : pieces_of(draft)) merged += n > 1 ? n : 0;
    return std::ssize(draft) <= tiles_.most_works && merged <= tiles_.most_merged;
  }

  [[nodiscard]] Stage1Costs stage1_of(const Draft& draft) const {
    std::int64_t moved = 0;
    for (const DraftPiece& p : draft) moved += packed_rows(p.tile);
    return stage1_costs(constants_, tile_, tiles_.tile_rows, moved);
  }
  [[nodiscard]] std::int64_t packed_rows(std::int32_t tile) const {
    return tiles_.tiles[static_cast<std::size_t>(tile)].rows() * tiles_.heads;
  }
  [[nodiscard]] double slowest_of(const Draft& draft) const {
    std::vector<SlotLoad> slots(static_cast<std::size_t>(tiles_.slots));
    for (const DraftPiece& p : draft) {
      SlotLoad& slot = slots[static_cast<std::size_t>(p.slot)];
      ++slot.pieces;
      slot.keys += p.blocks * tiles_.block_keys;
    }
    std::erase_if(slots, [](const SlotLoad& s) { return s.pieces == 0; });
    return std::ranges::max(slot_times(std::move(slots), stage1_of(draft)));
  }
  // As predict() sees it, but that the last block of a tile counts as a whole one.
  [[nodiscard]] double time_of(const Draft& draft) const {
    const std::vector<std::int64_t> pieces = pieces_of(draft);
    std::int64_t longest = 0;
    std::int64_t merged_rows = 0;
    for (std::size_t t = 0; t < pieces.size(); ++t) {
      if (pieces[t] < 2) continue;
      longest = std::max(longest, pieces[t]);
      merged_rows += pieces[t] * packed_rows(static_cast<std::int32_t>(t));
    }
    return slowest_of(draft) + reduce_us(constants_, longest, merged_rows);
  }

  const DraftTiles& tiles_;
  const TimeConstants& constants_;
  const TileCost& tile_;
  Packer packer_;
  std::vector<std::int64_t> blocks_;
  std::int64_t longest_ = 0;
  std::int64_t bound_block_ = 0;  // the cost of a block that bound_ is for
  std::int64_t bound_ = 0;
  std::vector<std::int64_t> tried_;
  std::vector<Candidate> found_;
};

// Whether the buffers can name a merge of every tile.
bool names_all_tiles(const PlannedStep& step, const DraftTiles& tiles) {
  const auto count = std::ssize(tiles.tiles);
  return std::ssize(step.check.plan.reduce_indptr) > count &&
         std::ssize(step.check.plan.reduce_final_map) >= 2 * count;
}

}  // namespace

Result<PlanSearch> search_plan(const PlannedStep& step) {
  const StepLoad load = load_of(step);
  const auto constants = constants_for(load);
  if (!constants) return constants.error();
  PlanSearch out{.before = predict_with(load, **constants), .better = std::nullopt};
  const DraftTiles tiles = draft_tiles(step, (*constants)->tile_keys);
  if (tiles.tiles.empty() || !names_all_tiles(step, tiles)) return out;
  const Draft draft = Search(tiles, **constants, tile_cost(**constants, load)).run();
  if (draft.empty()) return out;
  plan::Plan plan = plan_of(step, tiles, draft);
  PlannedStep found = step;
  found.check.plan = plan.view();
  const Prediction predicted = predict_with(load_of(found), **constants);
  if (predicted.total_us() < out.before.total_us())
    out.better = BetterPlan{std::move(plan), predicted};
  return out;
}

}  // namespace mla::timing

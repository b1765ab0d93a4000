// The damages of a plan that tests of plan_check share: each breaks one rule, and is asked for by
// that rule, so that no rule rests on another one. And changes that break none.
//
// P39 launches damages of its own (properties/claims/p39_damage_found), and AITER's kernels are
// asked for every word of a plan (tests/hip_backend/aiter/calibration). Units as in plan.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "core/plan/plan_check.hpp"

namespace mla::plan::test {

// Further than any list or buffer goes, with room to add.
inline constexpr std::int32_t kFar = std::numeric_limits<std::int32_t>::max() / 2;

// One work of a plan that is about to be damaged.
struct Place {
  Plan& plan;
  PlanCheckInput& input;
  std::int64_t work = 0;
  WorkItem item;
  PlanningRequest request;  // of the work

  [[nodiscard]] std::int64_t rows() const { return item.q_end - item.q_begin; }
  // Its tile sees all keys of its request.
  [[nodiscard]] bool last_tile() const { return item.q_end == request.q_end && rows() > 0; }
  [[nodiscard]] bool last_piece() const { return item.kv_end == request.kv_end; }
  [[nodiscard]] bool last_of_slot() const {
    for (std::int64_t s = 1; s < plan.work_indptr.size(); ++s)
      if (plan.work_indptr.at(s) == work + 1) return true;
    return false;
  }
  // The work as it is now, its offset made that of its last page.
  void store(WorkItem changed) const {
    const std::int64_t end =
        std::min((changed.kv_end - request.kv_begin) * input.page_size, request.tokens);
    changed.kv_offset = static_cast<std::int32_t>(request.tokens - end);
    plan.set_work(work, changed);
  }
  // Moves its partial rows, and the entry that merges them.
  [[nodiscard]] bool move_partials(std::int32_t to) const {
    for (std::int64_t i = 0; i < plan.reduce_partial_map.used(); ++i) {
      if (plan.reduce_partial_map.at(i) != item.partial_row) continue;
      plan.reduce_partial_map.set(i, to);
      WorkItem moved = item;
      moved.partial_row = to;
      plan.set_work(work, moved);
      return true;
    }
    return false;
  }
};

// `apply` says whether the damage has a place at the work, and changes the plan only then.
struct PlanDamage {
  const char* what;
  Rule rule;
  bool (*apply)(Place& p);
};

// Of a piece, a tile, a slot or a merge: several words that belong together.
std::span<const PlanDamage> tile_damages();
// Of a single record or list entry.
std::span<const PlanDamage> record_damages();
// What every kernel takes; no rule is broken, and `rule` is the one that is near.
std::span<const PlanDamage> legal_changes();
// Works without rows or keys that end their slot, as AITER's planners leave them.
std::span<const PlanDamage> legal_empty_works();

// The work with these pages before this one's, in the same tile; -1: none.
std::int64_t piece_before(const Place& p);

}  // namespace mla::plan::test

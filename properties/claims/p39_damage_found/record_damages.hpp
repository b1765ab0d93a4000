// One work of a plan that is about to be damaged, and the damages of single records and list
// entries that several rules of plan_check notice.
//
// Each is asked for by the rule that it breaks, so that a report names the cause and not what
// follows from it. Private to rule_damages. Units as in plan.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/engine/decode_metadata.hpp"
#include "core/plan/plan_check.hpp"

namespace mla::prop {

// One work of a plan that is about to be damaged.
struct Place {
  plan::Plan& plan;
  plan::PlanCheckInput& input;
  std::int64_t work = 0;
  plan::WorkItem item;
  plan::PlanningRequest request;  // of the work

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
  void store(plan::WorkItem changed) const {
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
      plan::WorkItem moved = item;
      moved.partial_row = to;
      plan.set_work(work, moved);
      return true;
    }
    return false;
  }
};

// `apply` says whether the damage has a place at the work, and changes the plan only then.
struct RuleDamage {
  const char* what;
  plan::Rule rule;
  bool (*apply)(Place& p);
};

std::span<const RuleDamage> record_damages();

// Works without rows or keys that end their slot, as AITER's planners leave them; no rule is
// broken.
std::span<const RuleDamage> legal_empty_works();

// Of two bad works plan_check names each, not only the first: the works after a bad one are still
// judged.
std::optional<std::string> second_bad_work_unnamed(const DecodeMetadata& metadata,
                                                   std::int64_t from);

}  // namespace mla::prop

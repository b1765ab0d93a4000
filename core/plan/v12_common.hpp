// What the two kernels of planner v1.2 share: their entry check and the capacity of a slot.
//
// Units: blocks of kv_granularity pages. Private to planners. Source: spec aiter.md 3.2, steps 1
// and 3. Fails: check_v12 names the value that no kernel of v1.2 can plan.
#pragma once

#include <bit>
#include <cstdint>

#include "core/plan/plan_input.hpp"
#include "core/result.hpp"

namespace mla::plan {

// Fixed cost of a work item: 16 pages of one token, or what holds as many tokens.
constexpr std::int64_t overhead_blocks(std::int64_t page_size) {
  return ceil_div(16, page_size);
}

// The blocks of so many pages. Granularity is a power of two (check_form): a division costs as much
// as the rest of a work.
class Blocks {
 public:
  explicit Blocks(std::int64_t granularity)
      : granularity_(granularity),
        shift_(std::countr_zero(static_cast<std::uint64_t>(granularity))) {}
  [[nodiscard]] std::int64_t of(std::int64_t pages) const {
    return (pages + granularity_ - 1) >> shift_;
  }

 private:
  std::int64_t granularity_;
  int shift_;
};

[[nodiscard]] MaybeError check_v12(const PlanInput& input, const PlanShape& shape);

// Why the parallel kernel cannot plan this input; nothing if it can.
[[nodiscard]] MaybeError check_parallel(const PlanInput& input, const PlanShape& shape);

// Slots that the demand is spread over. max_split_per_batch is a budget of the whole batch: one
// long request may take all of it.
[[nodiscard]] std::int64_t split_budget(const PlanInput& input, const PlanShape& shape);

// Blocks a slot takes, overhead included, for the `demand` of all tiles with their overheads.
[[nodiscard]] inline std::int64_t slot_capacity(const PlanInput& input, const PlanShape& shape,
                                                std::int64_t demand) {
  return ceil_div(demand, split_budget(input, shape)) + overhead_blocks(input.page_size);
}

}  // namespace mla::plan

// StepPlanner: who plans the steps of a backend, where this core does not.
//
// A program that was asked to run with its own planner has its own answers to the size query too.
// Results are taken as they come: nothing is refused for a defect of the original, and no work is
// taken out. Fails: with what the program said.
#pragma once

#include <cstdint>

#include "core/plan/plan_input.hpp"
#include "core/plan/ps_prefill.hpp"
#include "core/plan/sizes.hpp"
#include "core/result.hpp"

namespace mla::plan {

class StepPlanner {
 public:
  StepPlanner() = default;
  StepPlanner(const StepPlanner&) = delete;
  StepPlanner& operator=(const StepPlanner&) = delete;
  virtual ~StepPlanner() = default;
  [[nodiscard]] virtual Result<BufferSizes> sizes(const SizeQuery& query) const = 0;
  // Into buffers of the given sizes. Elements that the program did not write are unwritten. A
  // timing_seed other than 0 draws the timing of its kernels, as in ExecutionOptions.
  [[nodiscard]] virtual Result<Plan> plan(const PlanInput& input, const BufferSizes& sizes,
                                          std::uint64_t timing_seed) const = 0;
  // The same of prefill steps, whose planner runs on the host: no timing changes its plan.
  [[nodiscard]] virtual Result<BufferSizes> prefill_sizes(const PsSizeQuery& query) const = 0;
  [[nodiscard]] virtual Result<Plan> plan_prefill(const PsInput& input,
                                                  const BufferSizes& sizes) const = 0;
};

}  // namespace mla::plan

// The planners: from lengths to the six buffers, element for element as AITER writes them.
//
// Each planner is a pure function. Source: AITER csrc/kernels/mla/metadata/{v1_0,v1_1,v1_2}*.cuh;
// spec aiter.md 3. Fails: the original's checks become `unsupported`, its known defects become
// `refused` with a BUG id.
#pragma once

#include "core/plan/plan_input.hpp"
#include "core/result.hpp"

namespace mla::plan {

// Runs the planner that `version` and `kernel` name into buffers of the given sizes.
Result<Plan> make_plan(const PlanInput& input, const BufferSizes& sizes);

// The kernel that v1.2 launches for this input when `kernel` is automatic: the parallel one iff
// max_qo_len is 1, nothing is split, folded, sparse or paged, and its scratch fits the LDS.
V12Kernel choose_v12_kernel(const PlanInput& input, const PlanShape& shape);

// The planners themselves. `shape` comes from resolve_plan_shape (v1.2) or its v11 form.
Result<Plan> plan_v12_serial(const PlanInput& input, const PlanShape& shape, const BufferSizes&);
Result<Plan> plan_v12_parallel(const PlanInput& input, const PlanShape& shape, const BufferSizes&);
Result<Plan> plan_v11(const PlanInput& input, const PlanShape& shape, const BufferSizes&);
Result<Plan> plan_v10(const PlanInput& input, const PlanShape& shape, const BufferSizes&);

}  // namespace mla::plan

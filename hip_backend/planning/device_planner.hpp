// Planner v1.2 and page expansion on a device: what core/plan and core/paging compute, made there.
//
// plan_on_device() expects an input that core/plan accepts in safe fidelity; element for element,
// unwritten ones included, the answer is then the same. Sparse keys have no device form.
// Fails: sparse inputs, the checks of the core's expansion, and what the device says.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/paging/expand.hpp"
#include "core/plan/planner.hpp"
#include "hip_backend/device/device.hpp"

namespace mla::hip {

// The plan's buffers hold kPoison where the device wrote nothing; all elements count as written.
Result<plan::Plan> plan_on_device(Device& device, const plan::PlanInput& input,
                                  const PlanShape& shape, const plan::BufferSizes& sizes);

// `before`: what kv_indices holds before the expansion; the answer is what it holds after.
Result<std::vector<std::int32_t>> expand_on_device(Device& device, const ExpandInput& input,
                                                   const ExpandGrid& grid,
                                                   std::span<const std::int32_t> before);

}  // namespace mla::hip

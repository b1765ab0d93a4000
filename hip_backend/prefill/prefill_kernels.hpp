// The kernels of a prefill step on a device, in the table that a forward pass launches.
//
// Attention and reduce run on the device, gather and merge of context chunks on the CPU. What would
// leave a tensor is checked as the CPU backend checks it and never runs; what the device says is a
// fault of the step. Fails: as faults.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "cpu_backend/prefill/kernels.hpp"
#include "hip_backend/device/device.hpp"
#include "hip_backend/prefill/device_prefill.hpp"

namespace mla::hip {

// Executes the works of a plan and their merges.
using PlannedPrefill = std::function<Result<PrefillOutput>(const PrefillInput&)>;
// What an error of it is: a fault of the step, beside what was computed; or the step's own error,
// as of a decode step.
enum class OnError : std::uint8_t { fault, no_result };
// Of a backend that has nothing else: without flash attention. `arch`: the only one that they run;
// none: every one.
prefill::Kernels planned_prefill_kernels(std::optional<Arch> arch, PlannedPrefill attend,
                                         OnError on_error);

prefill::Kernels device_prefill_kernels(const std::shared_ptr<Device>& device);

}  // namespace mla::hip

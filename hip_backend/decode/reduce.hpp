// The launch of this project's kernel (kernels/reduce.hip) that merges the partial results of a
// decode run, on buffers that the run owns. Fails: with what the device says, or with the reason
// why there is no such kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/engine/backend.hpp"
#include "core/engine/row_map.hpp"
#include "hip_backend/admission/admission.hpp"
#include "hip_backend/device/device.hpp"
#include "hip_backend/device/resources.hpp"
#include "hip_backend/kernels/arguments.hpp"

namespace mla::hip {

struct ReduceInput {
  Device& device;
  const RowMap& rows;
  const Admission& admission;
  const ReduceArguments& buffers;  // addresses and shape
};

struct ReduceLaunch {
  KernelHandle kernel;
  LaunchSize size;
  std::vector<std::byte> arguments;
};

[[nodiscard]] Result<ReduceLaunch> reduce_launch(const ReduceInput& input);

}  // namespace mla::hip

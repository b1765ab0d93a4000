// Which of this project's stage-1 kernels a launch takes, and its grid. Private to the HIP backend.
//
// `packed_rows`: rows times heads of the longest work. `workgroups`: along x.
#pragma once

#include <string>

#include "core/arch.hpp"
#include "hip_backend/device/device.hpp"

namespace mla::hip {

struct DecodeKernel {
  std::string name;
  LaunchSize size;
  int row_groups = 1;  // workgroups along y
};
DecodeKernel decode_kernel(const DeviceProperties& device, DtypePair dtype,
                           std::int64_t packed_rows, std::int64_t workgroups);

}  // namespace mla::hip

// A device that a runtime drives: an AMD GPU (HIP) or an NVIDIA GPU (HIP's NVIDIA platform).
//
// The architecture comes from the runtime (gcnArchName, or the compute capability), never from a
// table of products. Fails: no runtime, no device, or an ordinal that does not exist, each in
// words.
#pragma once

#include <memory>

#include "hip_backend/device/device.hpp"
#include "hip_backend/device/runtime_api.hpp"

namespace mla::hip {

Result<std::unique_ptr<Device>> open_runtime_device(RuntimeApi api, int ordinal);

}  // namespace mla::hip

// The device that is not there: every call answers with the reason.
#pragma once

#include <memory>
#include <string>

#include "hip_backend/device/device.hpp"

namespace mla::hip {

// `reason` is a sentence: "no HIP runtime: ...".
std::unique_ptr<Device> make_null_device(std::string reason);

}  // namespace mla::hip

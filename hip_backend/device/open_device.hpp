// Devices by name: "hip:0", "nvidia:1", "emulated:gfx942", or "auto" for the first GPU there is.
//
// Fails: an unknown name is an error of usage; otherwise the answer says which runtime or device is
// missing. With "auto" it is the null device, which says so at every call.
#pragma once

#include <memory>
#include <string_view>

#include "hip_backend/device/device.hpp"
#include "hip_backend/device/emulated_device.hpp"

namespace mla::hip {

Result<std::unique_ptr<Device>> open_device(std::string_view name);
// The same; an emulated device gets these options.
Result<std::unique_ptr<Device>> open_device(std::string_view name, const EmulatedOptions& emulated);

}  // namespace mla::hip

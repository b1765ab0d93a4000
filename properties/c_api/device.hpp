// The device that executes the calls of backend hip, and AITER's prefill.
//
// Owns: one open device of each name, used by one call at a time. Private to properties/c_api.
// Fails: a name that is none, a device of another architecture, no device code for it.
#pragma once

#include <functional>
#include <string>

#include "core/arch.hpp"
#include "hip_backend/device/device.hpp"
#include "properties/c_api/border.hpp"

namespace mla::c_api {

// Runs `body` on the device of the process for an architecture.
std::optional<Failure> on_chosen_device(Arch arch,
                                        const std::function<MaybeError(hip::Device&)>& body);
// The same on the emulated device.
std::optional<Failure> on_emulated_device(Arch arch,
                                          const std::function<MaybeError(hip::Device&)>& body);

}  // namespace mla::c_api

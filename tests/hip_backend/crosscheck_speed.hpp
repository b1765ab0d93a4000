// Decode on a device against what the device can do: bytes and operations a second.
#pragma once

#include "hip_backend/device/device.hpp"

namespace mla::hip::test {

// Prints the copy bandwidth and a table of shapes; returns the exit code.
int measure_speed(Device& device);

}  // namespace mla::hip::test

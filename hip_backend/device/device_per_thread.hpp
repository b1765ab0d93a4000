// A device that gives every thread that calls it a device of its own.
//
// For cases that are judged at once: an access of one thread outside of its memory is a fault, also
// where another thread has some. What a thread allocated, found or made is its own; no other may
// use it. Fails: as the devices do.
#pragma once

#include <functional>
#include <memory>

#include "hip_backend/device/device.hpp"

namespace mla::hip {

// `make` is called by one thread at a time. All devices have the same properties.
std::unique_ptr<Device> make_device_per_thread(std::function<std::unique_ptr<Device>()> make);

}  // namespace mla::hip

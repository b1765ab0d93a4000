// A runtime of one device, for which every call goes well and does nothing; a test sets the calls
// that it is about.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hip_backend/device/runtime_api.hpp"

namespace mla::hip::test {

inline RuntimeApi quiet_runtime(Platform platform) {
  RuntimeApi api;
  api.platform = platform;
  api.library = "a runtime of the test";
  api.init = [](unsigned) { return 0; };
  api.driver_version = [](int*) { return 0; };
  api.device_count = [](int* count) {
    *count = 1;
    return 0;
  };
  api.device_name = [](char*, int, int) { return 0; };
  api.device_memory = [](std::size_t*, int) { return 0; };
  api.device_attribute = [](int*, int, int) { return 0; };
  if (platform == Platform::amd) {
    api.device_properties = [](void*, int) { return 0; };
    api.set_device = [](int) { return 0; };
    api.reset_device = [] { return 0; };
  } else {
    api.make_context = [](void**, unsigned, int) { return 0; };
    api.set_context = [](void*) { return 0; };
    api.destroy_context = [](void*) { return 0; };
  }
  api.device_synchronize = [] { return 0; };
  api.fill = [](std::uint64_t, unsigned, std::size_t) { return 0; };
  api.copy_in = [](std::uint64_t, const void*, std::size_t) { return 0; };
  api.copy_on = [](std::uint64_t, std::uint64_t, std::size_t, void*) { return 0; };
  api.launch = [](void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void*, void**, void**) { return 0; };
  api.stream_synchronize = [](void*) { return 0; };
  api.capture_begin = [](void*, int) { return 0; };
  api.graph_launch = [](void*, void*) { return 0; };
  return api;
}

}  // namespace mla::hip::test

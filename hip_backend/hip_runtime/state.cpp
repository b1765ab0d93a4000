#include "hip_backend/hip_runtime/state.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace mla::hip_runtime {

Runtime::Runtime() {
  const char* const checks = std::getenv("MLA_HIP_CHECKS");
  if (checks != nullptr && *checks != '\0') device.options.checks = gfx::every_check;
}

Runtime::~Runtime() {
  for (const auto* sentences : {&launched.faults, &launched.findings})
    for (const std::string& sentence : *sentences)
      std::fprintf(stderr, "HIP on the emulator: %s\n", sentence.c_str());
}

Runtime& runtime() {
  static Runtime instance;
  return instance;
}

hipError_t keep(hipError_t error) {
  if (error != hipSuccess) runtime().last = error;
  return error;
}

hipError_t fault(hipError_t error, const std::string& sentence) {
  runtime().launched.faults.push_back(sentence);
  return keep(error);
}

void set_device(const Device& device) {
  runtime().device = device;
}

gfx::Memory& memory() {
  return runtime().memory;
}

Launched take_launched() {
  return std::exchange(runtime().launched, {});
}

}  // namespace mla::hip_runtime

// A word of the device that kernels, copies and fills step, for tests of what comes after what.
#pragma once

#include "hip_backend/hip_runtime/runtime.hpp"
#include "program.hpp"
#include "tests/catch.hpp"

namespace hip_program {

// What a graph or a stream calls: the int that it is given, plus 1.
inline void count_up(void* data) {
  ++*static_cast<int*>(data);
}

class DeviceWord {
 public:
  DeviceWord() {
    REQUIRE(hipMalloc(&word_, sizeof *word_) == hipSuccess);
    set(0);
  }
  DeviceWord(const DeviceWord&) = delete;
  DeviceWord& operator=(const DeviceWord&) = delete;
  ~DeviceWord() { (void)hipFree(word_); }

  void set(std::int32_t value) {
    REQUIRE(hipMemcpy(word_, &value, sizeof value, hipMemcpyHostToDevice) == hipSuccess);
  }
  [[nodiscard]] std::int32_t value() const {
    std::int32_t out = 0;
    REQUIRE(hipMemcpy(&out, word_, sizeof out, hipMemcpyDeviceToHost) == hipSuccess);
    return out;
  }
  [[nodiscard]] std::int32_t* address() const { return word_; }
  // Its value times `factor`, plus `addend`.
  hipError_t step(std::int32_t factor, std::int32_t addend, hipStream_t stream) {
    void* arguments[] = {&word_, &factor, &addend};
    return hipLaunchKernel(step_word(), 1, 1, arguments, 0, stream);
  }

 private:
  std::int32_t* word_ = nullptr;
};

}  // namespace hip_program

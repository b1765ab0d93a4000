// A device that changes code objects before another device loads them: for defects in machine code.
//
// `change` gets a copy of the code of one unit ("decode"), which lives as long as the device.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "hip_backend/kernels/code_objects.hpp"
#include "tests/hip_backend/forwarding_device.hpp"

namespace mla::hip::test {

class ChangedCodeDevice final : public ForwardingDevice {
 public:
  using Change = std::function<void(std::span<std::byte> code)>;
  ChangedCodeDevice(std::unique_ptr<Device> device, const char* unit, const Change& change)
      : ForwardingDevice(std::move(device)), unit_(unit) {
    const auto code = code_object(properties().arch, unit);
    code_.assign(code.begin(), code.end());
    change(code_);
  }

  Result<KernelHandle> find_kernel(std::span<const std::byte> code,
                                   std::string_view name) override {
    const bool changed = code.data() == code_object(properties().arch, unit_).data();
    return ForwardingDevice::find_kernel(changed ? code_ : code, name);
  }

 private:
  const char* unit_;
  std::vector<std::byte> code_;
};

}  // namespace mla::hip::test

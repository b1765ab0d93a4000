// The guards of torch for HIP: there is one device, and it is always the current one.
#pragma once

namespace at::hip {

struct HIPGuardMasqueradingAsCUDA {
  template <class Device>
  explicit HIPGuardMasqueradingAsCUDA(const Device&) {}
};
struct OptionalHIPGuardMasqueradingAsCUDA {
  OptionalHIPGuardMasqueradingAsCUDA() = default;
  template <class Device>
  explicit OptionalHIPGuardMasqueradingAsCUDA(const Device&) {}
};

}  // namespace at::hip
namespace c10::hip {
using at::hip::HIPGuardMasqueradingAsCUDA;
using at::hip::OptionalHIPGuardMasqueradingAsCUDA;
}  // namespace c10::hip

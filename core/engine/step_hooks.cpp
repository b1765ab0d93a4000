#include "core/engine/step_hooks.hpp"

#include "core/engine/device/stream.hpp"

namespace mla {

const StepHooks& StepHooks::none() {
  static const StepHooks hooks;
  return hooks;
}

void DecodeHooks::upload(const char* name, std::span<const std::int32_t> source,
                         std::vector<std::int32_t>& /*staging*/,
                         device::DeviceView<std::int32_t> target, device::Stream& stream,
                         device::TransferLedger& /*ledger*/) const {
  stream.copy_to_device(name, source, target);
}

}  // namespace mla

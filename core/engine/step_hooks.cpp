#include "core/engine/step_hooks.hpp"

#include "core/engine/device/stream.hpp"
#include "core/engine/prefill/prefill_builder.hpp"

namespace mla {

const StepHooks& StepHooks::none() {
  static const StepHooks hooks;
  return hooks;
}

void StepHooks::upload(const char* name, std::span<const std::int32_t> source,
                       std::vector<std::int32_t>& /*staging*/,
                       device::DeviceView<std::int32_t> target, device::Stream& stream,
                       device::TransferLedger& /*ledger*/) const {
  stream.copy_to_device(name, source, target);
}

Result<prefill::PlanFields> StepHooks::stage_plan(const prefill::HostPlan& plan,
                                                  prefill::PrefillBuffers& buffers,
                                                  const prefill::Device& device) const {
  return prefill::stage_plan(plan, buffers, device);
}

}  // namespace mla

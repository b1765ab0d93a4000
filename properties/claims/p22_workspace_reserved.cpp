// P22: the scratch that an engine reserves before the workspace is locked holds every batch within
// its limits.
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/prefill_scratch.hpp"
#include "properties/claims/support.hpp"

namespace mla::prop {
namespace {

Outcome prefill_workspace_reserved(Subject& subject) {
  const auto& run = subject.prefill();
  if (!run && run.error().code == ErrorCode::overrun) return failed(run.error().message);
  if (!run && run.error().bug == "BUG-089") return failed(run.error().message);
  if (!run) return refusal(run.error());
  if (!run->steps.front()->config.fp8) return skipped("the engine has no fp8 prefill");
  Random random(subject.spec(), "P22");
  for (const prefill::EngineConfig& config : configs_of(subject)) {
    device::DeviceHeap heap;
    device::Workspace workspace(heap);
    if (const Status bad = prefill::reserve_scratch(config, workspace, subject.hooks()))
      return refusal(*bad);
    const auto worst = worst_scratch(config, subject.hooks(), random);
    if (!worst) return failed("a batch within the limits: " + worst.error().message);
    if (worst->bytes > workspace.reserved_bytes())
      return failed(say("a batch of ", config.limits.max_rows.count(), " rows needs ", worst->bytes,
                        " bytes of scratch, ", workspace.reserved_bytes(), " are reserved"));
  }
  return passed();
}

}  // namespace

constexpr Property kP22{
    "P22", "workspace_reserved",
    "What is reserved before the workspace is locked holds every batch within the limits.",
    by_kind<nullptr, prefill_workspace_reserved, nullptr>, PrefillSteps::fp8};

}  // namespace mla::prop

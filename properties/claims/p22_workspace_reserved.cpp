// P22: the scratch that an engine reserves before the workspace is locked holds every batch within
// its limits.
#include <algorithm>
#include <utility>

#include "core/engine/prefill/prefill_builder.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/prefill_scratch.hpp"
#include "properties/claims/support/support.hpp"

namespace mla::prop {
namespace {

// A step with one request, row or key more than declared is refused before anything is queued.
std::optional<std::string> taken_beyond_limits(const PrefillStep& step,
                                               const prefill::Hooks& hooks) {
  device::DeviceHeap heap;
  device::TransferLedger ledger;
  device::Stream stream(ledger);
  const prefill::Device device{heap, ledger, stream};
  auto buffers = prefill::make_prefill_buffers(step.config, device);
  if (!buffers) return "the engine has no buffers: " + buffers.error().message;
  const prefill::Limits exact = limits_of({step.spec});
  const std::pair<const char*, prefill::Limits> shorter[] = {
      {"request", {exact.max_requests - Requests(1), exact.max_rows, exact.max_model_len}},
      {"row", {exact.max_requests, exact.max_rows - Rows(1), exact.max_model_len}},
      {"key", {exact.max_requests, exact.max_rows, exact.max_model_len - Tokens(1)}}};
  const std::size_t pending = stream.pending();
  for (const auto& [what, limits] : shorter) {
    prefill::EngineConfig config = step.config;
    config.limits = limits;
    const auto built = build_prefill(step.batch, step.shape, config, *buffers, device, hooks);
    if (built || built.error().code != ErrorCode::overrun || stream.pending() != pending)
      return say("a step with a ", what, " more than declared is not refused as that");
  }
  return std::nullopt;
}

// The workspace holds 8 times the longest model or 4 blocks of every request, whichever is more,
// unless that is beyond 65536 tokens; and a block of every request in any case.
std::optional<std::string> other_context_workspace(Random& random) {
  constexpr std::int64_t kCap = 65536;
  const std::int64_t length = random.between(1, 20'000);
  const std::int64_t requests = random.between(1, 1024);
  const std::int64_t block = random.pick(std::vector<std::int64_t>{1, 16, 64, 256});
  const std::int64_t got =
      prefill::context_workspace_tokens(Tokens(length), Requests(requests), block);
  const std::int64_t least = requests * block;
  const std::int64_t wanted = std::max(8 * length, 4 * least);
  const bool enough = got >= least && got >= std::min(wanted, kCap);
  if (enough && got <= wanted && got <= std::max(least, kCap)) return std::nullopt;
  return say("the context workspace of ", requests, " requests with blocks of ", block,
             " tokens and up to ", length, " keys has ", got, " tokens");
}

Outcome prefill_workspace_reserved(Subject& subject) {
  const auto& run = subject.prefill();
  if (!run && run.error().code == ErrorCode::overrun) return failed(run.error().message);
  if (!run && run.error().bug == "BUG-089") return failed(run.error().message);
  if (!run) return refusal(run.error());
  if (!run->steps.front()->config.fp8) return skipped("the engine has no fp8 prefill");
  Random random(subject.spec(), "P22");
  if (auto why = taken_beyond_limits(*run->steps.front(), subject.hooks()))
    return failed(std::move(*why));
  if (auto why = other_context_workspace(random)) return failed(std::move(*why));
  for (const prefill::EngineConfig& config : configs_of(subject)) {
    device::DeviceHeap heap;
    device::Workspace workspace(heap);
    if (const MaybeError bad = prefill::reserve_scratch(config, workspace, subject.hooks()))
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

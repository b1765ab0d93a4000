// P19: a captured launch, replayed after later builds, gives what its step gives alone.
#include <algorithm>
#include <utility>

#include "core/engine/device/stream.hpp"
#include "core/engine/step_hooks.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/step_runs.hpp"
#include "properties/claims/support/support.hpp"

namespace mla::prop {
namespace {

// A kernel that is handed freed memory is found by name, and reads poison: without that a launch
// that was captured with buffers of an earlier step looks sound (BUG-068).
std::optional<std::string> freed_memory_unseen() {
  device::DeviceHeap heap;
  device::TransferLedger ledger;
  device::Stream stream(ledger);
  device::DeviceBuffer<std::uint8_t> buffer(heap, "page list", 4);
  std::vector<std::uint8_t> seen;
  const auto read = [view = buffer.view(), &seen](const device::DeviceAccess& access) {
    const auto bytes = view.on(access);
    seen.assign(bytes.begin(), bytes.end());
  };
  stream.launch("fill", [view = buffer.view()](const device::DeviceAccess& access) {
    std::ranges::fill(view.on(access), std::uint8_t{1});
  });
  stream.launch("first reader", read);
  stream.advance();
  if (seen != std::vector<std::uint8_t>(4, 1) || !heap.faults().empty())
    return "live memory is not read as it was written";
  buffer = {};
  stream.launch("late reader", read);
  stream.advance();
  const auto faults = heap.faults();
  if (faults.size() != 1 || faults[0].find("late reader") == std::string::npos ||
      faults[0].find("page list") == std::string::npos)
    return "a kernel reads freed memory, and no fault names both";
  if (seen != std::vector<std::uint8_t>(4, 0xA5)) return "freed memory does not hold poison";
  return std::nullopt;
}

Outcome decode_graph_replay(Subject& subject) {
  if (auto why = freed_memory_unseen()) return failed(std::move(*why));
  const std::vector<Case> steps = steps_of(subject.spec());
  const SequenceOptions eagerly = eager_on(subject, kv_bound(steps));
  SequenceOptions captured = eagerly;
  captured.graph = true;
  const auto replayed = run_sequence(steps, subject.backend(), captured, subject.hooks());
  if (!replayed) return refusal(replayed.error());
  if (!replayed->faults.empty()) return failed(replayed->faults.front());
  std::vector<StepRun> eager;
  std::size_t replays = 0;
  for (const StepRun& step : replayed->steps) {
    replays += step.replayed ? 1 : 0;
    auto alone = run_sequence({step.spec}, subject.backend(), eagerly, StepHooks::none());
    if (!alone) return refusal(alone.error());
    eager.push_back(std::move(alone->steps.front()));
  }
  if (const auto diff = difference(replayed->steps, eager))
    return failed("a replay differs from the eager step: " + *diff);
  if (replays < 2) return skipped("no later step has the launch shape of the captured one");
  return passed();
}

}  // namespace

constexpr Property kP19{
    "P19", "graph_replay",
    "A captured launch, replayed after a later build, gives what that step gives alone.",
    by_kind<decode_graph_replay, nullptr, nullptr>};

}  // namespace mla::prop

// P20: however far the host runs ahead, every kernel sees what was built for its step.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "core/case/steps.hpp"
#include "core/engine/device/stream.hpp"
#include "core/engine/step_hooks.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/step_runs.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/prefill/compare.hpp"
#include "properties/step/prefill/run.hpp"

namespace mla::prop {
namespace {

// A list of a smaller step leaves what is after it as it was: a copy takes the entries of the
// list, not those of the room for it.
std::optional<std::string> copies_too_much() {
  device::DeviceHeap heap;
  device::TransferLedger ledger;
  device::Stream stream(ledger);
  const device::DeviceBuffer<std::int32_t> room(heap, "seq_lens", 4);
  const std::vector<std::int32_t> longer{1, 2, 3, 4};
  const std::vector<std::int32_t> other{5, 6, 7, 8};
  stream.copy_to_device<std::int32_t>("seq_lens", longer, room.view());
  stream.copy_to_device<std::int32_t>("seq_lens", std::span(other).first(2), room.view());
  std::vector<std::int32_t> seen(4);
  stream.copy_to_host("seq_lens", room.view(), std::span(seen));
  if (seen == std::vector<std::int32_t>{5, 6, 3, 4}) return std::nullopt;
  return "a copy of 2 entries does not write 2";
}

Outcome decode_stream_order(Subject& subject) {
  if (auto why = copies_too_much()) return failed(std::move(*why));
  const std::vector<Case> steps = steps_of(subject.spec());
  SequenceOptions options = eager_on(subject, kv_bound(steps));
  const auto in_step = run_sequence(steps, subject.backend(), options, StepHooks::none());
  if (!in_step) return refusal(in_step.error());
  Random random(subject.spec(), "P20");
  options.ahead = static_cast<std::size_t>(random.between(1, 3));
  const auto ahead = run_sequence(steps, subject.backend(), options, subject.hooks());
  if (!ahead) return refusal(ahead.error());
  if (const auto diff = difference(ahead->steps, in_step->steps))
    return failed("a host that runs ahead changes the result: " + *diff);
  return passed();
}

// For prefill steps: those that follow the case's own, small enough to run them twice.
std::vector<Case> steps_behind(const Case& c) {
  constexpr std::int64_t kRows = 16;
  std::vector<Case> steps = single_steps(c);
  Case next = steps.front();
  steps.erase(steps.begin());
  Random random(c, "P20");
  while (steps.size() < 3) {
    next.requests.resize(
        static_cast<std::size_t>(random.between(1, static_cast<std::int64_t>(c.requests.size()))));
    for (RequestSpec& r : next.requests) {
      r.qo_len = random.between(1, kRows);
      r.kv_len = r.qo_len;
    }
    steps.push_back(next);
  }
  return steps;
}

// A plan has one of two places to be copied from. The host waits for one where both are taken, and
// only until the older plan is copied: it stays two plans ahead.
std::optional<std::string> other_waits(const PrefillRun& run, std::size_t ahead) {
  constexpr std::size_t kPlaces = 2;
  std::size_t expected = 0;
  for (std::size_t first = 0; first < run.steps.size(); first += ahead + 1) {
    std::size_t plans = 0;  // that are staged before the device runs
    for (std::size_t i = first; i < std::min(first + ahead + 1, run.steps.size()); ++i)
      plans += run.steps[i]->metadata.fp8 ? 1 : 0;
    expected += plans > kPlaces ? plans - kPlaces : 0;
  }
  if (run.waits == expected) return std::nullopt;
  return say("a host ", ahead, " steps ahead waits ", run.waits, " times for a place of its plan, ",
             expected, " are needed");
}

Outcome prefill_stream_order(Subject& subject) {
  const auto& alone = subject.prefill();
  if (!alone) return refusal(alone.error());
  if (!alone->steps.front()->metadata.fp8) return skipped("no plan is staged on path flash");
  std::vector<Case> steps = steps_behind(subject.spec());
  steps.insert(steps.begin(), alone->steps.front()->spec);
  Random random(subject.spec(), "P20 ahead");
  const auto ahead = static_cast<std::size_t>(random.between(1, 3));
  const auto together =
      run_prefill(steps, subject.context(), {.ahead = ahead, .threads = 1, .rule = {}});
  if (!together) return refusal(together.error());
  if (!together->faults.empty()) return failed(together->faults.front());
  if (auto why = other_waits(*together, ahead)) return failed(std::move(*why));
  if (const auto why = difference(*together->steps[0], *alone->steps[0]))
    return failed(say("step 0 of a host ", ahead, " steps ahead: ", *why));
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const auto again =
        run_prefill({steps[i]}, subject.context(), {.ahead = 0, .threads = 1, .rule = {}});
    if (!again) return refusal(again.error());
    if (const auto why = difference(*together->steps[i], *again->steps[0]))
      return failed(say("step ", i, " of a host ", ahead, " steps ahead: ", *why));
  }
  return passed();
}

}  // namespace

constexpr Property kP20{
    "P20", "stream_order",
    "However far the host runs ahead, every kernel sees what was built for its step.",
    by_kind<decode_stream_order, prefill_stream_order, nullptr>, PrefillSteps::fp8};

}  // namespace mla::prop

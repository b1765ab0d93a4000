// P21: an engine takes every step of decodes that it is declared for, its result is that of the
// step alone, and it builds and launches the step without waiting for the device.
#include <algorithm>

#include "core/engine/decode_step.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/step_runs.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/fa/run.hpp"

namespace mla::prop {
namespace {

// How an engine's run of the case's own step differs from the step alone. In bits it may: an engine
// splits by its bound on keys, not by those that are there.
std::optional<std::string> other_result(Subject& subject, const SequenceRun& run) {
  if (!subject.result() || !subject.reference()) return std::nullopt;
  for (const StepRun& step : run.steps) {
    if (step.spec.requests != subject.spec().requests || !step.result) continue;
    if (!subject.result()->faults.empty() || step.spec.pad_requests != subject.spec().pad_requests)
      continue;
    if (!step.result->faults.empty())
      return "the step alone has no fault, in an engine it has: " +
             step.result->faults.front().what;
    for (std::int64_t row = 0; row < subject.batch()->rows().count(); ++row)
      if (auto why = beyond_bounds(*subject.result(), *step.result, {row, row},
                                   subject.spec().heads, *subject.reference()))
        return "the step in an engine is not the step alone: " + *why;
  }
  return std::nullopt;
}

// Why an engine that is declared for the case's own step and no larger one gets no buffers.
MaybeError not_provisioned(Subject& subject) {
  engine::StepLimits limits{.max_requests = std::ssize(subject.batch()->requests)};
  for (const RequestSpec& r : subject.batch()->requests)
    limits.max_qo_len = std::max(limits.max_qo_len, r.qo_len);
  const auto sizes = engine::DecodeStepBuilder(subject.spec(), limits, subject.hooks(),
                                               subject.backend().planner())
                         .provision();
  return sizes ? MaybeError() : sizes.error();
}

Outcome decode_no_sync(Subject& subject) {
  if (subject.result().ok())
    if (const MaybeError bad = not_provisioned(subject))
      return failed("the step runs alone, and an engine has no buffers for it: " + bad->message);
  const std::vector<Case> steps = steps_of(subject.spec());
  const auto run = run_sequence(steps, subject.backend(), eager_on(subject, 0), subject.hooks());
  if (!run) return refusal(run.error());
  // An engine that is declared for a step takes it, or its runs compare refusals with refusals.
  if (subject.result().ok())
    for (const StepRun& step : run->steps)
      if (step.spec.requests == subject.spec().requests && !step.result)
        return failed("the step runs alone, and an engine declines it: " +
                      step.result.error().message);
  if (const auto why = other_result(subject, *run)) return failed(*why);
  if (run->build_waits.empty()) return passed();
  Outcome outcome = failed(say("decode builds wait for the device ", run->build_waits.size(),
                               " times, first for ", run->build_waits.front()));
  outcome.details = run->build_waits;
  return outcome;
}

Outcome fa_no_sync(Subject& subject) {
  const auto& steps = subject.fa();
  if (!steps) return refusal(steps.error());
  for (std::size_t i = 0; i < steps->size(); ++i) {
    const FaStepRun& step = (*steps)[i];
    std::string waits;
    for (const std::string& wait : step.waits) waits += (waits.empty() ? "" : ", ") + wait;
    const auto& requests = step.ordered.batch.requests;
    const std::int64_t threshold = step.spec.fa().draft_tokens + 1;  // rows of a decode
    const bool decodes = std::all_of(requests.begin(), requests.end(),
                                     [threshold](const auto& r) { return r.qo_len <= threshold; });
    if (waits != (decodes ? "" : "seq_lens"))
      return failed(say("step ", i, decodes ? ", decodes only," : "",
                        " waits for the device: ", waits.empty() ? "never" : waits));
  }
  return passed();
}

}  // namespace

constexpr Property kP21{"P21", "no_sync",
                        "An engine takes the steps that it is declared for, with the results of "
                        "the steps alone, and builds decodes "
                        "without waiting for the device.",
                        by_kind<decode_no_sync, nullptr, fa_no_sync>};

}  // namespace mla::prop

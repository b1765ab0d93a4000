// P19, P20, P21 and P30 for decode steps: what an engine's device does between the steps.
#include "properties/claims/engine_claims.hpp"

#include <algorithm>

#include "core/say.hpp"
#include "properties/claims/support.hpp"
#include "properties/step/compare.hpp"
#include "properties/step/engine/sequence.hpp"

namespace mla::prop {
namespace {

// The engine's bound on KV lengths; the same for every run of a claim, because it decides splits.
std::int64_t kv_bound(const std::vector<Case>& steps) {
  std::int64_t bound = 0;
  for (const Case& c : steps)
    for (const RequestSpec& r : c.requests) bound = std::max({bound, r.kv_len, r.qo_len});
  return bound;
}

std::string step_name(std::size_t i) {
  return say("step ", i);
}

// The first difference between two runs of the same steps.
std::optional<std::string> difference(const std::vector<StepRun>& a,
                                      const std::vector<StepRun>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].result.ok() != b[i].result.ok())
      return step_name(i) + " is refused in one run only: " +
             (a[i].result.ok() ? b[i].result : a[i].result).error().message;
    if (!a[i].result.ok()) continue;
    const auto bits = bitwise_difference(*a[i].result, *b[i].result, a[i].spec.heads);
    if (bits) return step_name(i) + ": " + *bits;
  }
  return std::nullopt;
}

}  // namespace

Outcome decode_graph_replay(Subject& subject) {
  const std::vector<Case> steps = steps_of(subject.spec());
  const std::int64_t bound = kv_bound(steps);
  const auto replayed =
      run_sequence(steps, subject.backend(), {.graph = true, .max_kv_len = bound}, subject.hooks());
  if (!replayed) return refusal(replayed.error());
  if (!replayed->faults.empty()) return failed(replayed->faults.front());
  std::vector<StepRun> eager;
  std::size_t replays = 0;
  for (const StepRun& step : replayed->steps) {
    replays += step.replayed ? 1 : 0;
    auto alone = run_sequence({step.spec}, subject.backend(), {.max_kv_len = bound});
    if (!alone) return refusal(alone.error());
    eager.push_back(std::move(alone->steps.front()));
  }
  if (const auto diff = difference(replayed->steps, eager))
    return failed("a replay differs from the eager step: " + *diff);
  if (replays < 2) return skipped("no later step has the launch shape of the captured one");
  return passed();
}

Outcome decode_stream_order(Subject& subject) {
  const std::vector<Case> steps = steps_of(subject.spec());
  const std::int64_t bound = kv_bound(steps);
  const auto in_step = run_sequence(steps, subject.backend(), {.max_kv_len = bound});
  if (!in_step) return refusal(in_step.error());
  Random random(subject.spec(), "P20");
  const auto ahead =
      run_sequence(steps, subject.backend(),
                   {.ahead = static_cast<std::size_t>(random.between(1, 3)), .max_kv_len = bound},
                   subject.hooks());
  if (!ahead) return refusal(ahead.error());
  if (const auto diff = difference(ahead->steps, in_step->steps))
    return failed("a host that runs ahead changes the result: " + *diff);
  return passed();
}

Outcome decode_no_sync(Subject& subject) {
  const std::vector<Case> steps = steps_of(subject.spec());
  const auto run = run_sequence(steps, subject.backend(), {}, subject.hooks());
  if (!run) return refusal(run.error());
  if (run->build_waits.empty()) return passed();
  Outcome outcome = failed(say("decode builds wait for the device ", run->build_waits.size(),
                               " times, first for ", run->build_waits.front()));
  outcome.details = run->build_waits;
  return outcome;
}

Outcome p30_group_isolation(Subject& subject) {
  // The draft: other heads, block size and dtype, one row a request.
  std::vector<Case> target = steps_of(subject.spec());
  std::vector<Case> draft = target;
  for (Case& c : draft) {
    c.heads = c.heads == 16 ? 32 : 16;
    c.page_size = 1;
    c.block_size = c.block_size == 16 ? 4 : 16;
    c.dtype = c.dtype.kv == Dtype::fp8 ? DtypePair{} : DtypePair{Dtype::bf16, Dtype::fp8};
    c.planner = PlannerChoice::v12;
    c.decode().need_lse = false;
    for (RequestSpec& r : c.requests) r.qo_len = std::min<std::int64_t>(r.qo_len, 1);
  }
  const std::int64_t bound = kv_bound(target);
  const auto both =
      run_groups({target, draft}, subject.backend(), {.max_kv_len = bound}, subject.hooks());
  if (!both) return refusal(both.error());
  for (std::size_t g = 0; g < 2; ++g) {
    const auto alone =
        run_sequence(g == 0 ? target : draft, subject.backend(), {.max_kv_len = bound});
    if (!alone) return refusal(alone.error());
    if (const auto diff = difference((*both)[g].steps, alone->steps))
      return failed((g == 0 ? "the target's " : "the draft's ") + *diff +
                    " (differs from the group alone)");
  }
  return passed();
}

}  // namespace mla::prop

// P19: a captured launch, replayed after later builds, gives what its step gives alone.
#include "properties/claims/claims.hpp"
#include "properties/claims/step_runs.hpp"
#include "properties/claims/support.hpp"

namespace mla::prop {
namespace {

Outcome decode_graph_replay(Subject& subject) {
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
    auto alone = run_sequence({step.spec}, subject.backend(), eagerly);
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

// Judge: one case, looked at by several properties through one subject.
//
// Cases are judged in parallel, so each executes with one thread unless a property asks for more.
// A property passes only if the backend launched something for it where it had a step executed:
// what was launched is counted by the code that launches, under the name of its own backend.
// A stage that refuses the case is for the properties to skip, and is reported; a launch that comes
// back with a fault is no refusal: a property that skips because of it fails.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "properties/judge/ledger.hpp"
#include "properties/step/property.hpp"

namespace mla::prop {

// Whether a judgement is no longer wanted: after a signal, or when its time is over. Called
// by any thread.
using Stopped = std::function<bool()>;

struct Judgement {
  // By shape or builder, with a reason; another kind than decode, when every property skipped it or
  // the backend has no such step.
  bool refused = false;
  MaybeError why_refused;         // of a decode step: what shape or builder said, or the backend
  std::vector<Outcome> outcomes;  // one for each property; known_fail where the ledger covers it
  // Entries of the ledger, for each property: that cover it and whose condition a launch of it
  // met, if it ran; and, where it is known to fail, that explain the failure.
  std::vector<std::vector<std::size_t>> covered;
  std::vector<std::vector<std::size_t>> known;
  std::vector<Execution> executions;  // one for each property
  std::vector<double> seconds;        // one for each property that was judged here
  Launches shared;                    // of the case's own step
  bool cut = false;                   // stopped early: what was not asked is inconclusive
  [[nodiscard]] Launches launches() const;
};

// A pass for which the backend launched something; any other pass is none, and says why. `launches`
// are those that the outcome rests on, of a step that gave a result.
Outcome only_what_ran(Outcome outcome, const Backend& backend, StepKind kind,
                      const Launches& launches);

// What a property found of a case, as far as it says whether the case is refused.
struct Found {
  Verdict verdict = Verdict::inconclusive;
  bool step_refused = false;  // it asked for the case's own step, which was refused
};
std::vector<Found> found(const Judgement& judgement);

// Whether a case counts as refused by what these properties found. `not_planned`, of decode: shape
// or builder refused the step; `no_such_step`: the backend has none of the kind.
bool is_refused(StepKind kind, std::span<const Found> found, bool not_planned, bool no_such_step);

Judgement judge(const Case& c, std::span<const Property* const> properties, const Backend& backend,
                const Interposer* interposer);
// The same with a ledger; `stopped` is asked before every property but the first.
Judgement judge(const Case& c, std::span<const Property* const> properties, const Backend& backend,
                const Interposer* interposer, const Ledger& ledger, const Stopped& stopped,
                const ExecutionLimits& limits = {});
// Of a case that was interrupted before its first property.
Judgement interrupted(std::size_t properties);

}  // namespace mla::prop

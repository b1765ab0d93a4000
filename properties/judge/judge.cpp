#include "properties/judge/judge.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <set>

#include "core/case/steps.hpp"
#include "properties/judge/attribution.hpp"

namespace mla::prop {
namespace {

// A case may be small and the machine smaller, and a property may be wrong itself: neither ends the
// run.
Outcome checked(const Property& property, Subject& subject) {
  try {
    return property.check(subject);
  } catch (const std::bad_alloc&) {
    return {Verdict::inconclusive, "there was not enough memory for the case", {}};
  } catch (const std::exception& e) {  // a size below 0 as well, which looks like a huge one
    return {Verdict::inconclusive, say("the property could not be judged: ", e.what()), {}};
  }
}

// The launches that a property judged: those it made, from `begin` on, and that of the case if
// it looked at its result, or if there is none: the first launch with the case's metadata, since
// claims that change a tensor launch the same metadata again.
std::vector<SeenLaunch> launches_behind(Subject& subject, const Watch& watch, std::size_t begin,
                                        bool took_result) {
  const auto& all = watch.launches();
  std::vector<SeenLaunch> out(all.begin() + static_cast<std::ptrdiff_t>(begin), all.end());
  if (!subject.metadata().ok()) return out;
  const auto own = std::find_if(all.begin(), all.end(), [&](const SeenLaunch& l) {
    return l.metadata == &*subject.metadata();
  });
  if (own - all.begin() < static_cast<std::ptrdiff_t>(begin) &&
      (took_result || own->damage.has(Damage::refused)))
    out.push_back(*own);
  return out;
}

// The entries that a failure of the property here could be due to. One that is about no launch,
// such as the canary's, needs none; a property that says nothing cannot fail.
std::vector<std::size_t> covered_by(const Ledger& ledger, const Property& property, StepKind kind,
                                    std::span<const SeenLaunch> launches, Verdict verdict) {
  if (verdict == Verdict::skip || verdict == Verdict::not_applicable) return {};
  std::set<std::size_t> met;
  for (const SeenLaunch& launch : launches)
    met.insert(launch.entries.begin(), launch.entries.end());
  std::vector<std::size_t> entries;
  for (std::size_t e = 0; e < ledger.size(); ++e) {
    // Damage of a decode is that of its launches, which were asked above.
    const bool seen = ledger[e].kind == StepKind::prefill;
    const DamageSet damage = seen ? ledger[e].damage : Damage::claim;
    const bool of_any_case =
        ledger[e].where.empty() && covers_claim(ledger[e], property, kind, damage);
    if (of_any_case || (met.contains(e) && covers(ledger[e], property))) entries.push_back(e);
  }
  return entries;
}

// The entries that explain the failure; without any its details say what the ledger lacks.
std::vector<std::size_t> explain_failure(const Ledger& ledger, const Property& property,
                                         Subject& subject, std::vector<SeenLaunch> launches,
                                         Outcome& outcome) {
  // A property that launches nothing is covered by what the case would launch.
  if (launches.empty() && subject.metadata().ok() && subject.tensors().ok())
    launches.push_back({&*subject.metadata(),
                        covering(ledger, {*subject.metadata(), *subject.tensors()}, {}),
                        {},
                        {}});
  const StepKind kind = subject.spec().kind();
  std::vector<std::size_t> known = explain(ledger, property, kind, launches, outcome);
  if (!known.empty()) {
    outcome.verdict = Verdict::known_fail;
    return known;
  }
  for (std::string& line : left_open(ledger, launches)) outcome.details.push_back(std::move(line));
  if (outcome.damage.none()) return known;
  for (const LedgerEntry& entry : ledger)
    if (covers_claim(entry, property, kind, entry.damage))
      outcome.details.push_back(say("results are wrong: ", text_of(outcome.damage),
                                    "; the ledger has ", entry.id, " here for ",
                                    text_of(entry.damage)));
  return known;
}

// A pass or a skip beside a launch that failed is a failure, whatever else ran. A backend that
// meets a damaged plan reports faults or refuses; its launch does not fail.
Outcome unless_a_launch_failed(Outcome outcome, const Execution& execution) {
  const bool silent = outcome.verdict == Verdict::skip || outcome.verdict == Verdict::pass;
  if (execution.failed.empty() || !silent) return outcome;
  return failed("a launch failed: " + execution.failed);
}

// Why the step is not executed: what shape or builder said, or that no kernel takes the shape.
MaybeError refusal_of(Subject& subject, const Backend& backend, bool refused) {
  if (subject.spec().kind() != StepKind::decode) return subject.seen_refusal();
  if (refused) return subject.metadata().error();
  if (!subject.metadata().ok()) return std::nullopt;
  const std::vector<Case> steps = single_steps(subject.spec());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Subject step = subject.sibling(steps[i]);
    const Support support = backend.supports(*(i == 0 ? subject : step).shape());
    if (support.ok) continue;
    const Error why{ErrorCode::unsupported, backend_name(backend) + ": " + support.reason};
    return steps.size() > 1 ? of_step(i, why) : why;
  }
  return subject.seen_refusal();  // of a backend that knows only when it launches
}

}  // namespace

Outcome only_what_ran(Outcome outcome, const Backend& backend, StepKind kind,
                      const Launches& launches) {
  if (outcome.verdict != Verdict::pass) return outcome;
  const auto count = launches.of(backend.name(), backend.device(kind), kind);
  if (count && *count > 0) return outcome;
  std::string why = backend_name(backend) + " launched nothing for it";
  if (count) return skipped(why + ": no row has a key");
  for (const std::string& line : launches.lines()) why += ", " + line;
  return {Verdict::inconclusive, std::move(why), {}};
}

Launches Judgement::launches() const {
  Launches all = shared;
  for (const Execution& e : executions) all.add(e.own);
  return all;
}

std::vector<Found> found(const Judgement& judgement) {
  std::vector<Found> out;
  for (std::size_t p = 0; p < judgement.outcomes.size(); ++p)
    out.push_back({judgement.outcomes[p].verdict, judgement.executions[p].refused});
  return out;
}

bool is_refused(StepKind kind, std::span<const Found> found, bool not_planned, bool no_such_step) {
  if (kind == StepKind::decode)
    return not_planned && !found.empty() && std::ranges::none_of(found, [](const Found& f) {
             return f.verdict == Verdict::inconclusive;
           });
  const auto silent = [](const Found& f) {
    return f.verdict == Verdict::skip || f.verdict == Verdict::not_applicable;
  };
  // What needs no step is judged without one.
  return std::ranges::any_of(found, &Found::step_refused) ||
         (no_such_step && std::ranges::any_of(found, silent)) || std::ranges::all_of(found, silent);
}

namespace {

// A step that the properties had memory for may still be too large to be planned once more.
void note_refusal(Subject& subject, const Backend& backend, Judgement& judgement) {
  const StepKind kind = subject.spec().kind();
  const bool decode = kind == StepKind::decode;
  try {
    // What there was no memory for is not built again to see whether it would be refused.
    judgement.refused = is_refused(kind, found(judgement), decode, backend.device(kind).empty()) &&
                        (!decode || !subject.metadata().ok());
    if (!judgement.cut) judgement.why_refused = refusal_of(subject, backend, judgement.refused);
  } catch (const std::exception&) {
    judgement.refused = false;
  }
}

}  // namespace

Judgement interrupted(std::size_t properties) {
  Judgement judgement;
  judgement.cut = true;
  judgement.outcomes.assign(properties, {Verdict::inconclusive, "interrupted", {}});
  judgement.covered.resize(properties);
  judgement.known.resize(properties);
  judgement.executions.resize(properties);
  judgement.seconds.resize(properties);
  return judgement;
}

Judgement judge(const Case& c, std::span<const Property* const> properties, const Backend& backend,
                const Interposer* interposer) {
  return judge(c, properties, backend, interposer, {}, [] { return false; });
}

Judgement judge(const Case& c, std::span<const Property* const> properties, const Backend& backend,
                const Interposer* interposer, const Ledger& ledger, const Stopped& stopped,
                const ExecutionLimits& limits) {
  const Watch watch(backend, ledger);
  Subject subject(c, ledger.empty() ? backend : watch, interposer, limits);
  Judgement judgement;
  judgement.covered.resize(properties.size());
  judgement.known.resize(properties.size());
  for (std::size_t p = 0; p < properties.size(); ++p) {
    judgement.cut = judgement.cut || (p > 0 && stopped());
    if (judgement.cut) {
      judgement.outcomes.push_back({Verdict::inconclusive, "interrupted", {}});
      judgement.executions.emplace_back();
      judgement.seconds.push_back(0);
      continue;
    }
    const std::size_t before = watch.launches().size();
    const auto begin = std::chrono::steady_clock::now();
    Outcome outcome = checked(*properties[p], subject);
    judgement.seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    Execution execution = subject.log().take();
    outcome = unless_a_launch_failed(std::move(outcome), execution);
    if (execution.executed) {
      Launches launches = execution.own;
      if (execution.shared) launches.add(subject.log().shared());
      outcome = only_what_ran(std::move(outcome), backend, c.kind(), launches);
    }
    if (!ledger.empty() && outcome.verdict != Verdict::inconclusive) {
      std::vector<SeenLaunch> seen = launches_behind(subject, watch, before, execution.shared);
      judgement.covered[p] = covered_by(ledger, *properties[p], c.kind(), seen, outcome.verdict);
      if (outcome.verdict == Verdict::fail)
        judgement.known[p] =
            explain_failure(ledger, *properties[p], subject, std::move(seen), outcome);
    }
    judgement.outcomes.push_back(std::move(outcome));
    judgement.executions.push_back(std::move(execution));
  }
  judgement.shared = subject.log().shared();
  note_refusal(subject, backend, judgement);
  return judgement;
}

}  // namespace mla::prop

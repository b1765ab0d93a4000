#include "properties/app/judge_run.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/say.hpp"
#include "properties/judge/runner.hpp"

namespace mla::app {
namespace {

// The answers about a backend, empty if there are none yet.
BackendAnswers& answers_of(Recording& recording, const std::string& backend) {
  for (BackendAnswers& b : recording.backends)
    if (b.name == backend) return b;
  return recording.backends.emplace_back(
      BackendAnswers{.name = backend, .seconds = 0, .answers = {}});
}

// What another AITER did is not reported under the name of this one. Its files are summed only for
// a record.
MaybeError check_code(const std::vector<NamedBackend>& backends, Recording& recording) {
  if (recording.path.empty() && recording.identity.empty()) return std::nullopt;
  const bool begun = !recording.identity.empty();
  for (const NamedBackend& b : backends) {
    const std::string sum = b.code_sum ? b.code_sum() : std::string();
    std::string& code = answers_of(recording, b.name).code;
    if (begun && code != sum)
      return Error{ErrorCode::usage,
                   say("the record is of another AITER: the code objects of backend ", b.name,
                       " are not those of today")};
    code = sum;
  }
  return std::nullopt;
}

// Puts what is known into the run. What is found comes into `fresh`.
void use_answers(const BackendAnswers& known, const Recording& recording, prop::RunOptions& run,
                 prop::Answers& fresh) {
  using std::chrono::milliseconds;
  run.shard = recording.shard;
  run.answers = &known.answers;
  run.only_answered = recording.only_answered;
  if (!recording.path.empty())
    run.answered = [&fresh](std::int64_t index, const prop::CaseAnswer& answer) {
      fresh.insert_or_assign(index, answer);
    };
  if (recording.only_answered) run.time_limit = std::nullopt;
  if (run.time_limit)
    run.time_limit = std::max(milliseconds(0),
                              *run.time_limit - milliseconds(std::llround(known.seconds * 1e3)));
}

}  // namespace

MaybeError why_no_record(const std::vector<NamedBackend>& backends, const Recording& recording) {
  if (recording.path.empty() && !recording.only_answered) return std::nullopt;
  std::set<std::string> names;
  for (const NamedBackend& b : backends)
    if (!names.insert(b.name).second)
      return Error{ErrorCode::usage,
                   "--record tells backends apart by their names, and two are named " + b.name +
                       ": record one device at a time"};
  const bool checked = std::any_of(backends.begin(), backends.end(),
                                   [](const NamedBackend& b) { return b.emulation != nullptr; });
  if (!checked) return std::nullopt;
  return Error{ErrorCode::usage,
               "--record keeps no findings of the emulated device's own checks: leave out one of "
               "them"};
}

MaybeError begin_answers(const std::vector<NamedBackend>& backends, const prop::RunOptions& run,
                         Recording& recording) {
  const auto refuse = [](const std::string& why) { return Error{ErrorCode::usage, why}; };
  const std::string identity = identity_of(run);
  if (!recording.identity.empty() && recording.identity != identity)
    return refuse(
        "the record is of another run: its cases, properties or ledger are not those of today");
  for (const BackendAnswers& b : recording.backends)
    if (const auto end = std::ssize(run.cases) + run.random_cases;
        !run.time_limit && !b.answers.empty() && b.answers.rbegin()->first >= end)
      return refuse(say("the record has case ", b.answers.rbegin()->first, ", and the run has ",
                        end, ", counted from 0"));
  if (MaybeError bad = check_code(backends, recording)) return bad;
  recording.identity = identity;
  return std::nullopt;
}

RunSummary judge_run(const std::vector<NamedBackend>& backends, const prop::RunOptions& asked,
                     Recording& recording, const std::function<void(prop::RunOptions&)>& watch) {
  prop::RunOptions run = asked;
  RunSummary summary{.seed = run.seed, .backends = {}};
  const prop::Ledger ledger = run.ledger;
  for (const NamedBackend& b : backends) {
    BackendAnswers& known = answers_of(recording, b.name);
    prop::Answers fresh;
    run.time_limit = asked.time_limit;
    use_answers(known, recording, run, fresh);
    run.backend = b.backend.get();
    run.replay_options = b.replay_options;
    run.workers = b.workers;
    run.arch = b.arch;
    run.production = b.production;
    run.ledger = prop::concerning(ledger, b.name, b.backend->planner() != nullptr);
    watch(run);
    summary.backends.push_back({.backend = b.name,
                                .facts = b.facts,
                                .report = prop::run_properties(run),
                                .emulation = b.emulation});
    double& seconds = summary.backends.back().report.seconds;
    known.seconds = seconds += known.seconds;
    for (auto& [index, answer] : fresh) known.answers.insert_or_assign(index, std::move(answer));
  }
  return summary;
}

}  // namespace mla::app

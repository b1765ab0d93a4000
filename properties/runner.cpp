#include "properties/runner.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "properties/judge.hpp"
#include "properties/minimise.hpp"
#include "properties/parallel.hpp"
#include "properties/search.hpp"
#include "properties/tags.hpp"

namespace mla::prop {
namespace {

// Cases looked at while one failure is made smaller; the usual number is below 200.
constexpr std::int64_t kMaxShrinkTries = 1000;

Failure make_failure(const RunOptions& options, const Property& property, const Backend& backend,
                     const FirstFailure& first) {
  const auto fails = [&](const Case& c) -> std::optional<Outcome> {
    const Property* const only = &property;
    Judgement judgement = judge(c, {&only, 1}, backend, options.interposer);
    if (judgement.outcomes.front().verdict != Verdict::fail) return std::nullopt;
    // A shrink never slides into what is known.
    if (known_failure(options.ledger, property, c, judgement.outcomes.front()) != nullptr)
      return std::nullopt;
    return std::move(judgement.outcomes.front());
  };
  Minimum minimum = minimise(first.c, first.outcome, fails, options.shrink ? kMaxShrinkTries : 0);
  return {.property = &property,
          .smallest = std::move(minimum.smallest),
          .original = first.c,
          .outcome = std::move(minimum.outcome),
          .seed = options.seed,
          .shrinks = minimum.shrinks,
          .replay_options = options.replay_options};
}

// Properties that failed, each shrunk by one worker.
std::vector<Failure> make_failures(const RunOptions& options, const Backend& backend,
                                   const std::vector<FirstFailure>& firsts, int workers) {
  std::vector<std::size_t> failed;
  for (std::size_t p = 0; p < firsts.size(); ++p)
    if (firsts[p].index != kNever) failed.push_back(p);
  std::vector<Failure> failures(failed.size());
  std::atomic<std::size_t> next{0};
  on_workers(workers, [&] {
    for (std::size_t i = next++; i < failed.size(); i = next++)
      failures[i] =
          make_failure(options, *options.properties[failed[i]], backend, firsts[failed[i]]);
  });
  return failures;
}

// Whether the witnesses of an entry still fail.
void judge_witnesses(const RunOptions& options, const Backend& backend, LedgerTally& tally) {
  const LedgerEntry& entry = tally.entry;
  if (entry.status == LedgerStatus::quarantine) tally.verdict = Verdict::skip;
  for (const Case& witness : entry.witnesses) {
    if (tally.verdict != Verdict::known_fail) return;
    const Outcome outcome =
        judge(witness, {&entry.property, 1}, backend, options.interposer).outcomes.front();
    if (outcome.verdict == Verdict::fail &&
        known_failure({entry}, *entry.property, witness, outcome) != nullptr)
      continue;
    tally.verdict =
        outcome.verdict == Verdict::pass ? Verdict::unexpected_pass : Verdict::inconclusive;
    tally.message = format_case(witness) +
                    " is listed as failing: " + std::string(name(outcome.verdict)) +
                    (outcome.message.empty() ? "" : ", " + outcome.message);
  }
}

}  // namespace

std::vector<TagTally> RunReport::missed_quotas() const {
  std::vector<TagTally> missed;
  for (const TagTally& tag : tags)
    if (random_cases >= kQuotaCases && tag.cases * tag.one_in < random_cases) missed.push_back(tag);
  return missed;
}

ExitCode RunReport::exit_code() const {
  if (!failures.empty()) return ExitCode::failed;
  const auto any = [this](Verdict verdict) {
    return std::any_of(ledger.begin(), ledger.end(),
                       [verdict](const LedgerTally& t) { return t.verdict == verdict; });
  };
  if (any(Verdict::unexpected_pass)) return ExitCode::unexpected_pass;
  if (any(Verdict::inconclusive) || !missed_quotas().empty()) return ExitCode::inconclusive;
  const bool ran = !tallies.empty() && std::all_of(tallies.begin(), tallies.end(),
                                                   [](const auto& t) { return t.ran > 0; });
  return ran && !gave_up ? ExitCode::held : ExitCode::inconclusive;
}

RunReport run_properties(const RunOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const int workers = worker_count(options.workers);
  const std::unique_ptr<Backend> narrow = one_thread(*options.backend);
  const Backend& backend = workers > 1 ? *narrow : *options.backend;
  Search search(options, backend);
  search.run(workers);
  RunReport report = search.counts();
  for (LedgerTally& tally : report.ledger) judge_witnesses(options, backend, tally);
  report.failures = make_failures(options, backend, search.first_failures(), workers);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace mla::prop

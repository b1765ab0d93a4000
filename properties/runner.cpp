#include "properties/runner.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "properties/judge.hpp"
#include "properties/parallel.hpp"
#include "properties/search.hpp"
#include "properties/tags.hpp"

namespace mla::prop {
namespace {

// Whether the witnesses of an entry still fail.
void judge_witnesses(const RunOptions& options, const Backend& backend, LedgerTally& tally) {
  const LedgerEntry& entry = tally.entry;
  if (entry.status == LedgerStatus::quarantine) tally.verdict = Verdict::skip;
  for (const Case& witness : entry.witnesses) {
    if (tally.verdict != Verdict::known_fail) return;
    if (options.stopped()) {
      tally.verdict = Verdict::inconclusive;
      tally.message = "interrupted before its witnesses were judged";
      return;
    }
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

bool Failure::concerns(const Property& p) const {
  return property == &p ||
         std::any_of(also.begin(), also.end(), [&p](const Failing& f) { return f.property == &p; });
}

ExitCode RunReport::exit_code() const {
  if (!failures.empty()) return ExitCode::failed;
  const auto any = [this](Verdict verdict) {
    return std::any_of(ledger.begin(), ledger.end(),
                       [verdict](const LedgerTally& t) { return t.verdict == verdict; });
  };
  if (any(Verdict::unexpected_pass)) return ExitCode::unexpected_pass;
  if (any(Verdict::inconclusive) || !missed_quotas().empty()) return ExitCode::inconclusive;
  const bool ran =
      std::any_of(tallies.begin(), tallies.end(), [](const PropertyTally& t) { return t.ran > 0; });
  const bool settled = std::all_of(tallies.begin(), tallies.end(), [](const PropertyTally& t) {
    return t.unsettled == 0 && (t.ran > 0 || !t.never_applies.empty());
  });
  const bool whole = !gave_up && !interrupted && too_large == 0;
  return ran && settled && whole ? ExitCode::held : ExitCode::inconclusive;
}

RunReport run_properties(const RunOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const int workers = worker_count(options.workers);
  const std::unique_ptr<Backend> narrow = one_thread(*options.backend);
  const Backend& backend = workers > 1 ? *narrow : *options.backend;
  Search search(options, backend);
  search.run(workers);
  RunReport report = search.report();
  for (LedgerTally& tally : report.ledger) judge_witnesses(options, backend, tally);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace mla::prop

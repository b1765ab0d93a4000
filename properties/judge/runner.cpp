#include "properties/judge/runner.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/say.hpp"
#include "properties/judge/judge.hpp"
#include "properties/judge/memory_budget.hpp"
#include "properties/judge/parallel.hpp"
#include "properties/judge/search.hpp"
#include "properties/step/estimate.hpp"

namespace mla::prop {
namespace {

// Whether the witnesses of entry `index` still fail because of it. Those that the backend declines
// say nothing where another one fails, and those of steps that it does not have say nothing.
void judge_witnesses(const RunOptions& options, MemoryBudget& memory, std::size_t index,
                     LedgerTally& tally) {
  const auto& asked = options.properties;
  std::string declined;
  bool confirmed = false;
  for (const auto& [c, property] : tally.entry.witnesses) {
    if (std::find(asked.begin(), asked.end(), property) == asked.end()) continue;
    if (options.stopped()) {
      tally.verdict = Verdict::inconclusive;
      tally.message = "interrupted before its witnesses were judged";
      return;
    }
    const MemoryBudget::Share share(memory, estimate_of(c).bytes());
    const Judgement judgement = judge(c, {&property, 1}, *options.backend, options.interposer,
                                      options.ledger, options.stopped);
    const Outcome& outcome = judgement.outcomes.front();
    const auto& known = judgement.known.front();
    if (std::find(known.begin(), known.end(), index) != known.end()) {
      confirmed = true;
      continue;
    }
    if (outcome.verdict == Verdict::not_applicable) continue;
    std::string message =
        say(format_case(c), " is listed as failing ", property->id, ": ", name(outcome.verdict));
    if (!outcome.message.empty()) message += ", " + outcome.message;
    for (const std::string& line : outcome.details)
      if (line.starts_with("a launch is wrong")) message += "; " + line;
    if (outcome.verdict == Verdict::skip) {
      declined = std::move(message);
      continue;
    }
    tally.verdict =
        outcome.verdict == Verdict::pass ? Verdict::unexpected_pass : Verdict::inconclusive;
    tally.message = std::move(message);
    return;
  }
  if (confirmed || declined.empty()) return;
  tally.verdict = Verdict::inconclusive;
  tally.message = std::move(declined);
}

}  // namespace

RunReport run_properties(const RunOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const int workers = worker_count(options.workers);
  MemoryBudget memory(options.memory);
  RunReport report = Search(options, workers, memory).run();
  std::atomic<std::size_t> next{0};
  on_workers(workers, [&] {
    for (std::size_t i = next++; i < report.ledger.size(); i = next++)
      judge_witnesses(options, memory, i, report.ledger[i]);
  });
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace mla::prop

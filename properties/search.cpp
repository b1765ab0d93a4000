#include "properties/search.hpp"

#include <algorithm>
#include <utility>

#include "properties/generate/cases.hpp"
#include "properties/generate/rc_cases.hpp"
#include "properties/parallel.hpp"
#include "properties/tags.hpp"

namespace mla::prop {

Search::Search(const RunOptions& options, const Backend& backend)
    : options_(options),
      backend_(backend),
      wanted_(static_cast<std::int64_t>(options.cases.size()) + options.random_cases),
      first_(options.properties.size()),
      skips_(options.properties.size()) {}

void Search::run(int workers) {
  on_workers(workers, [this] {
    while (const auto index = take()) judge_case(*index);
  });
}

// The index of the next case, or nothing when the search is over.
std::optional<std::int64_t> Search::take() {
  const std::lock_guard lock(mutex_);
  if (last_first_failure() < next_) return std::nullopt;
  if (next_ >= wanted_ && !options_.time_limit) return std::nullopt;
  if (options_.time_limit && std::chrono::steady_clock::now() - start_ >= *options_.time_limit) {
    out_of_time_ = out_of_time_ || next_ < wanted_;
    return std::nullopt;
  }
  records_.emplace_back();
  return next_++;
}

// Where every property has failed; kNever while one holds.
std::int64_t Search::last_first_failure() const {
  std::int64_t last = -1;
  for (const FirstFailure& f : first_) last = std::max(last, f.index);
  return last;
}

// Given cases first, then random ones.
Case Search::case_at(std::int64_t index) const {
  const auto given = static_cast<std::int64_t>(options_.cases.size());
  if (index < given) return options_.cases[static_cast<std::size_t>(index)];
  Case c = nth_case(options_.seed, index - given, options_.production);
  if (options_.arch) set_arch(c, *options_.arch);
  return c;
}

std::vector<std::size_t> Search::still_asked(std::int64_t index) {
  const std::lock_guard lock(mutex_);
  std::vector<std::size_t> asked;
  for (std::size_t p = 0; p < first_.size(); ++p)
    if (first_[p].index > index) asked.push_back(p);
  return asked;
}

void Search::judge_case(std::int64_t index) {
  std::vector<std::size_t> asked = still_asked(index);
  const Case c = case_at(index);
  Record record;
  record.verdicts.assign(first_.size(), Verdict::inconclusive);
  if (index >= std::ssize(options_.cases))
    for (const Tag& tag : all_tags())
      if (!tag.production || options_.production) record.tags.push_back(tag.holds(c));
  quarantine(index, c, asked, record);
  std::vector<const Property*> properties;
  for (const std::size_t p : asked) properties.push_back(options_.properties[p]);
  keep(index, c, asked, judge(c, properties, backend_, options_.interposer), std::move(record));
}

void Search::quarantine(std::int64_t index, const Case& c, std::vector<std::size_t>& asked,
                        Record& record) {
  const auto listed = [&](std::size_t p) {
    const LedgerEntry* entry = quarantined(options_.ledger, *options_.properties[p], c);
    if (entry == nullptr) return false;
    record.verdicts[p] = Verdict::skip;
    record.listed.push_back({p, static_cast<std::size_t>(entry - options_.ledger.data())});
    const std::lock_guard lock(mutex_);
    note_skip(p, index, "quarantined by " + entry->id + ": " + entry->reason);
    return true;
  };
  asked.erase(std::remove_if(asked.begin(), asked.end(), listed), asked.end());
}

void Search::note_skip(std::size_t p, std::int64_t index, std::string reason) {
  if (index < skips_[p].index) skips_[p] = {index, std::move(reason)};
}

void Search::keep(std::int64_t index, const Case& c, const std::vector<std::size_t>& asked,
                  Judgement judgement, Record record) {
  const std::lock_guard lock(mutex_);
  record.refused = judgement.refused;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const std::size_t p = asked[i];
    Outcome& outcome = judgement.outcomes[i];
    record.verdicts[p] = outcome.verdict;
    if (outcome.verdict == Verdict::skip) note_skip(p, index, std::move(outcome.message));
    if (outcome.verdict != Verdict::fail) continue;
    const LedgerEntry* entry = known_failure(options_.ledger, *options_.properties[p], c, outcome);
    if (entry != nullptr) {
      record.verdicts[p] = Verdict::known_fail;
      record.listed.push_back({p, static_cast<std::size_t>(entry - options_.ledger.data())});
    } else if (index < first_[p].index) {
      first_[p] = {index, c, std::move(outcome)};
    }
  }
  records_[static_cast<std::size_t>(index)] = std::move(record);
  ++judged_;
  if (options_.progress) options_.progress(judged_, options_.time_limit ? 0 : wanted_);
}

// Of one property, up to its first failure.
PropertyTally Search::tally(std::size_t p, std::int64_t cases) const {
  PropertyTally tally;
  tally.property = options_.properties[p];
  for (std::int64_t i = 0; i < cases && i <= first_[p].index; ++i) {
    const Verdict verdict = records_[static_cast<std::size_t>(i)].verdicts[p];
    if (verdict == Verdict::inconclusive) continue;
    ++(verdict == Verdict::skip ? tally.skipped : tally.ran);
    if (verdict == Verdict::fail) ++tally.failed;
    if (verdict == Verdict::known_fail) ++tally.known;
  }
  if (tally.skipped > 0) tally.first_skip = skips_[p].reason;
  return tally;
}

void Search::count_tags(RunReport& report) const {
  for (const Tag& tag : all_tags())
    if (!tag.production || options_.production)
      report.tags.push_back({.tag = tag.name, .one_in = tag.one_in});
  for (std::int64_t i = std::ssize(options_.cases); i < report.cases; ++i) {
    const Record& record = records_[static_cast<std::size_t>(i)];
    if (record.refused) continue;
    ++report.random_cases;
    for (std::size_t t = 0; t < report.tags.size(); ++t)
      report.tags[t].cases += record.tags[t] ? 1 : 0;
  }
}

void Search::count_listed(RunReport& report) const {
  for (const LedgerEntry& entry : options_.ledger) {
    LedgerTally tally;
    tally.entry = entry;
    report.ledger.push_back(std::move(tally));
  }
  for (std::int64_t i = 0; i < report.cases; ++i)
    for (const auto& [p, entry] : records_[static_cast<std::size_t>(i)].listed)
      report.ledger[entry].cases += i <= first_[p].index ? 1 : 0;
}

RunReport Search::counts() const {
  RunReport report;
  report.gave_up = out_of_time_;
  // Cases behind the last first failure were started by a worker that was ahead.
  report.cases =
      std::min(next_, last_first_failure() == kNever ? kNever : last_first_failure() + 1);
  for (std::int64_t i = 0; i < report.cases; ++i)
    report.refused += records_[static_cast<std::size_t>(i)].refused ? 1 : 0;
  for (std::size_t p = 0; p < first_.size(); ++p) report.tallies.push_back(tally(p, report.cases));
  count_tags(report);
  count_listed(report);
  return report;
}

}  // namespace mla::prop

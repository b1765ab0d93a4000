// The report of Findings: sums over the cases that count.
#include <algorithm>
#include <set>
#include <utility>

#include "properties/judge/findings.hpp"

namespace mla::prop {

// Whether the property is not about the kind of step, or the device, of any case before `taken`.
bool Findings::says_nothing_about_any(std::size_t p, std::int64_t taken) const {
  return std::all_of(records_.begin(), records_.begin() + taken, [p](const Record& record) {
    return !record.done || record.verdicts[p] == Verdict::not_applicable;
  });
}

// Of one property, up to its first failure.
PropertyTally Findings::tally(std::size_t p, std::int64_t taken) const {
  PropertyTally tally;
  tally.property = options_.properties[p];
  tally.seconds = seconds_[p];
  for (std::int64_t i = 0; i < taken && i <= first_[p].index; ++i) {
    const Record& record = records_[static_cast<std::size_t>(i)];
    const Verdict verdict = record.verdicts[p];
    if (verdict == Verdict::inconclusive && !record.done) continue;
    const bool skipped = verdict == Verdict::skip || verdict == Verdict::not_applicable;
    ++(verdict == Verdict::inconclusive ? tally.unsettled : skipped ? tally.skipped : tally.ran);
    if (verdict == Verdict::fail) ++tally.failed;
    if (verdict == Verdict::known_fail) ++tally.known;
  }
  if (first_[p].on_smallest) {
    ++tally.ran;
    ++tally.failed;
  }
  // Of given cases alone no kind can be missing by accident, as it could of random ones.
  const bool about_none_given = tally.ran == 0 && tally.skipped > 0 &&
                                !cases_.is_drawn(taken - 1) && says_nothing_about_any(p, taken);
  const bool asked_always = first_[p].index == kNever;
  if (tally.skipped > 0) {
    const auto shown = asked_always ? skips_[p].most_telling() : skips_[p].first();
    tally.why_skipped = shown.reason;
    tally.skipped_alike = shown.cases;
  }
  if (tally.unsettled > 0) tally.why_unsettled = unsettled_[p].first().reason;
  if (tally.ran == 0)
    tally.never_applies = never_applies(*tally.property, *options_.backend, options_.arch)
                              .value_or(about_none_given ? tally.why_skipped : std::string());
  for (const StepKind kind : kStepKinds)
    tally.launches += launches_.of_property(p)
                          .of(options_.backend->name(), options_.backend->device(kind), kind)
                          .value_or(0);
  return tally;
}

bool Findings::refused(std::int64_t index) const {
  const Record& record = records_[static_cast<std::size_t>(index)];
  std::vector<Found> found;
  for (std::size_t p = 0; p < first_.size(); ++p)
    if (index <= first_[p].index) found.push_back({record.verdicts[p], record.step_refused[p]});
  return is_refused(record.kind, found, record.not_planned,
                    options_.backend->device(record.kind).empty());
}

// Over the cases before `taken` that were judged to the end.
void Findings::count_cases(RunReport& report, std::int64_t taken) const {
  for (const Tag& tag : tags_) report.tags.push_back({.tag = tag.name, .one_in = tag.one_in});
  for (std::int64_t i = 0; i < taken; ++i) {
    const Record& record = records_[static_cast<std::size_t>(i)];
    if (!record.done) continue;
    ++report.cases;
    report.too_large += record.too_large ? 1 : 0;
    const bool refused_by_rule = !record.too_large && refused(i);
    report.refused += refused_by_rule ? 1 : 0;
    if (record.too_large || refused_by_rule || !cases_.is_drawn(i)) continue;
    ++report.random_cases;
    for (std::size_t t = 0; t < report.tags.size(); ++t)
      report.tags[t].cases += record.tags[t] ? 1 : 0;
  }
}

void Findings::count_listed(RunReport& report, std::int64_t taken) const {
  for (const LedgerEntry& entry : options_.ledger) {
    LedgerTally tally;
    tally.entry = entry;
    report.ledger.push_back(std::move(tally));
  }
  for (std::int64_t i = 0; i < taken; ++i) {
    std::set<std::size_t> covered;
    std::set<std::size_t> failed;
    for (const auto& [p, entry, fails] : records_[static_cast<std::size_t>(i)].listed) {
      if (i > first_[p].index) continue;
      covered.insert(entry);
      if (fails) failed.insert(entry);
    }
    for (const std::size_t entry : covered) ++report.ledger[entry].covered;
    for (const std::size_t entry : failed) ++report.ledger[entry].failed;
  }
}

RunReport Findings::report(bool interrupted) const {
  RunReport report;
  // Cases after the last first failure were started by a worker that was ahead.
  const std::int64_t last = last_first_failure();
  const std::int64_t taken = last == kNever ? next() : std::min(next(), last + 1);
  for (std::size_t p = 0; p < first_.size(); ++p) report.tallies.push_back(tally(p, taken));
  count_cases(report, taken);
  count_listed(report, taken);
  report.launches = launches_.all();
  report.wanted = cases_.wanted();
  report.first_too_large = too_large_.reason;
  // A run in which every property has failed has nothing left to ask.
  const bool unfinished = last == kNever && report.cases < report.wanted;
  report.interrupted =
      interrupted || (unfinished && (options_.only_answered || options_.stopped()));
  report.gave_up = unfinished && !report.interrupted;
  report.failures = failures_;
  return report;
}

}  // namespace mla::prop

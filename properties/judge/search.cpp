#include "properties/judge/search.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "properties/generate/cases.hpp"
#include "properties/generate/rc_cases.hpp"
#include "properties/judge/parallel.hpp"
#include "properties/judge/tags.hpp"
#include "properties/step/estimate.hpp"

namespace mla::prop {

namespace {

using std::chrono::milliseconds;

// Tags of the kinds of steps that a property looks at and the backend has.
std::vector<Tag> owed_tags(const RunOptions& options, const Backend& backend) {
  StepKinds judged{};
  for (const Property* property : options.properties)
    for (const StepKind kind : {StepKind::decode, StepKind::prefill, StepKind::fa}) {
      const auto k = static_cast<std::size_t>(kind);
      const Check& check = property->check;
      judged[k] = judged[k] || (check.kinds[k] && !backend.device(kind).empty());
    }
  std::vector<Tag> owed;
  for (const Tag& tag : all_tags())
    if (is_owed(tag, judged, options.production)) owed.push_back(tag);
  return owed;
}

// How long shrinking may go on when the time of the run is over.
milliseconds grace_of(const RunOptions& options) {
  return std::max(milliseconds(10'000), options.time_limit.value_or(milliseconds(0)) / 10);
}

}  // namespace

Search::Search(const RunOptions& options, const Backend& backend)
    : options_(options),
      backend_(backend),
      wanted_(static_cast<std::int64_t>(options.cases.size()) + options.random_cases),
      tags_(owed_tags(options, backend)),
      first_(options.properties.size()),
      skips_(options.properties.size()),
      unsettled_(options.properties.size()),
      launches_(options.properties.size()),
      seconds_(options.properties.size()) {}

void Search::run(int workers) {
  workers_ = workers;
  on_workers(workers, [this] {
    while (const auto index = take()) {
      judge_case(*index);
      explain();
    }
  });
  explain();
}

// Whether a signal or the time ended the run.
bool Search::over(milliseconds grace) const {
  if (options_.stopped()) return true;
  return options_.time_limit &&
         std::chrono::steady_clock::now() - start_ >= *options_.time_limit + grace;
}

bool Search::is_mine(std::int64_t index) const {
  return options_.only_answered ? options_.answers->contains(index) : options_.shard.has(index);
}

std::int64_t Search::end() const {
  if (!options_.only_answered) return options_.time_limit ? kNever : wanted_;
  const Answers& answers = *options_.answers;
  return std::max(wanted_, answers.empty() ? 0 : answers.rbegin()->first + 1);
}

void Search::pass_over(std::int64_t index) {
  Record& record = records_[static_cast<std::size_t>(index)];
  record.back = true;
  record.verdicts.assign(first_.size(), Verdict::inconclusive);
  while (frontier_ < next_ && records_[static_cast<std::size_t>(frontier_)].back) ++frontier_;
  launches_.note(index, {});
  add_launches();
}

// The index of the next case, or nothing when the search is over.
std::optional<std::int64_t> Search::take() {
  const std::lock_guard lock(mutex_);
  while (true) {
    if (last_first_failure() < next_ || next_ >= end()) return std::nullopt;
    if (over(milliseconds(0))) {
      interrupted_ = interrupted_ || options_.stopped();
      return std::nullopt;
    }
    records_.emplace_back();
    const std::int64_t index = next_++;
    if (is_mine(index)) return index;
    pass_over(index);
  }
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
    for (const Tag& tag : tags_) record.tags.push_back(tag.holds(c));
  if (auto known = known_answer(index, asked, c.kind())) {
    keep(index, c, std::move(*known), std::move(record));
    return;
  }
  CaseAnswer answer{.asked = std::move(asked), .judgement = {}, .too_large = why_too_large(c)};
  if (answer.too_large.empty()) {
    std::vector<const Property*> properties;
    for (const std::size_t p : answer.asked) properties.push_back(options_.properties[p]);
    answer.judgement = judge(c, properties, backend_, options_.interposer, options_.ledger,
                             [this] { return over(milliseconds(0)); });
  }
  if (!answer.judgement.cut) {
    const std::lock_guard lock(mutex_);
    options_.answered(index, answer);
  }
  keep(index, c, std::move(answer), std::move(record));
}

std::optional<CaseAnswer> Search::known_answer(std::int64_t index,
                                               const std::vector<std::size_t>& asked,
                                               StepKind kind) const {
  if (options_.answers == nullptr) return std::nullopt;
  const auto found = options_.answers->find(index);
  if (found == options_.answers->end()) return std::nullopt;
  const CaseAnswer& known = found->second;
  CaseAnswer out{.asked = asked, .judgement = {}, .too_large = known.too_large};
  out.judgement.shared = known.judgement.shared;
  for (const std::size_t p : asked) {
    const auto at = std::find(known.asked.begin(), known.asked.end(), p);
    if (at == known.asked.end()) return std::nullopt;
    if (!known.too_large.empty()) continue;
    const auto i = static_cast<std::size_t>(at - known.asked.begin());
    out.judgement.outcomes.push_back(known.judgement.outcomes[i]);
    out.judgement.covered.push_back(known.judgement.covered[i]);
    out.judgement.known.push_back(known.judgement.known[i]);
    out.judgement.executions.push_back(known.judgement.executions[i]);
    // A record from anywhere may name entries that the ledger does not have.
    for (const auto& entries : {out.judgement.covered.back(), out.judgement.known.back()})
      for (const std::size_t entry : entries)
        if (entry >= options_.ledger.size()) return std::nullopt;
  }
  out.judgement.refused = is_refused(kind, out.judgement.outcomes, known.judgement.refused,
                                     backend_.device(kind).empty());
  return out;
}

std::string Search::why_too_large(const Case& c) const {
  if (options_.memory == 0) return {};
  const Estimate estimate = estimate_of(c);
  const double share = options_.memory / workers_;
  if (estimate.bytes() <= share) return {};
  return need_text(c, estimate) + "; a case may take " + bytes_text(share);
}

void Search::note_too_large(std::int64_t index, const CaseAnswer& answer, Record& record) {
  if (index < too_large_.index) too_large_ = {index, answer.too_large};
  for (const std::size_t p : answer.asked) {
    record.verdicts[p] = Verdict::skip;
    skips_[p].note(index, Verdict::skip, answer.too_large);
  }
  record.too_large = true;
}

void Search::keep(std::int64_t index, const Case& c, CaseAnswer answer, Record record) {
  const std::lock_guard lock(mutex_);
  Judgement& judgement = answer.judgement;
  if (!answer.too_large.empty()) {
    note_too_large(index, answer, record);
    answer.asked.clear();
  }
  const std::vector<std::size_t>& asked = answer.asked;
  record.refused = record.too_large || judgement.refused;
  record.back = true;
  record.done = !judgement.cut;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const std::size_t p = asked[i];
    Outcome& outcome = judgement.outcomes[i];
    record.verdicts[p] = outcome.verdict;
    if (!judgement.seconds.empty()) seconds_[p] += judgement.seconds[i];
    if (outcome.verdict == Verdict::skip || outcome.verdict == Verdict::not_applicable)
      skips_[p].note(index, outcome.verdict, outcome.message);
    if (outcome.verdict == Verdict::inconclusive && record.done)
      unsettled_[p].note(index, outcome.verdict, outcome.message);
    for (const std::size_t entry : judgement.covered[i]) record.listed.push_back({p, entry, false});
    for (const std::size_t entry : judgement.known[i]) record.listed.push_back({p, entry, true});
    if (outcome.verdict == Verdict::fail && index < first_[p].index)
      first_[p] = {index, c, std::move(outcome)};
  }
  records_[static_cast<std::size_t>(index)] = std::move(record);
  while (frontier_ < next_ && records_[static_cast<std::size_t>(frontier_)].back) ++frontier_;
  launches_.note(index, {asked, std::move(judgement.executions), std::move(judgement.shared)});
  add_launches();
  ++judged_;
  options_.progress(judged_, options_.time_limit ? 0 : options_.shard.of(wanted_));
}

// The first case whose failures are certain and not reported yet; kNever if there is none.
std::int64_t Search::next_certain() const {
  std::int64_t certain = kNever;
  for (const FirstFailure& f : first_)
    if (f.index >= explained_ && f.index < frontier_) certain = std::min(certain, f.index);
  return certain;
}

void Search::explain() {
  std::unique_lock lock(mutex_);
  while (!explaining_ && next_certain() != kNever) {
    explaining_ = true;
    const std::int64_t index = next_certain();
    std::vector<Failing> failing;
    std::vector<const Property*> others;
    Case c;
    for (std::size_t p = 0; p < first_.size(); ++p) {
      if (first_[p].index > index) others.push_back(options_.properties[p]);
      if (first_[p].index != index) continue;
      c = first_[p].c;
      failing.push_back({options_.properties[p], first_[p].outcome});
    }
    lock.unlock();
    std::vector<Failure> failures =
        defects_of(options_, backend_, c, std::move(failing), std::move(others),
                   [this] { return over(grace_of(options_)); });
    lock.lock();
    settle(index, std::move(failures));
    explaining_ = false;
  }
}

void Search::settle(std::int64_t index, std::vector<Failure> failures) {
  for (Failure& failure : failures) {
    for (std::size_t p = 0; p < first_.size(); ++p)
      if (first_[p].index > index && failure.concerns(*options_.properties[p]))
        first_[p] = {index, {}, {}, true};
    options_.found(failure);
    failures_.push_back(std::move(failure));
  }
  explained_ = index + 1;
  add_launches();
}

void Search::add_launches() {
  std::vector<std::int64_t> last;
  for (const FirstFailure& f : first_) last.push_back(f.index);
  launches_.add_up_to(next_certain(), last);
}

// Of one property, up to its first failure.
PropertyTally Search::tally(std::size_t p, std::int64_t taken) const {
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
  const bool asked_always = first_[p].index == kNever;
  if (tally.skipped > 0) {
    const auto shown = asked_always ? skips_[p].most_telling() : skips_[p].first();
    tally.why_skipped = shown.reason;
    tally.skipped_alike = shown.cases;
  }
  if (tally.unsettled > 0) tally.why_unsettled = unsettled_[p].first().reason;
  if (tally.ran == 0)
    tally.never_applies =
        never_applies(*tally.property, backend_, options_.arch).value_or(std::string());
  for (const StepKind kind : {StepKind::decode, StepKind::prefill, StepKind::fa})
    tally.launches +=
        launches_.of_property(p).of(backend_.name(), backend_.device(kind), kind).value_or(0);
  return tally;
}

// Over the cases before `taken` that were judged to the end.
void Search::count_cases(RunReport& report, std::int64_t taken) const {
  for (const Tag& tag : tags_) report.tags.push_back({.tag = tag.name, .one_in = tag.one_in});
  for (std::int64_t i = 0; i < taken; ++i) {
    const Record& record = records_[static_cast<std::size_t>(i)];
    if (!record.done) continue;
    ++report.cases;
    report.refused += record.refused ? 1 : 0;
    report.too_large += record.too_large && i < std::ssize(options_.cases) ? 1 : 0;
    if (record.refused || i < std::ssize(options_.cases)) continue;
    ++report.random_cases;
    for (std::size_t t = 0; t < report.tags.size(); ++t)
      report.tags[t].cases += record.tags[t] ? 1 : 0;
  }
}

void Search::count_listed(RunReport& report, std::int64_t taken) const {
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

RunReport Search::report() const {
  RunReport report;
  // Cases after the last first failure were started by a worker that was ahead.
  const std::int64_t last = last_first_failure();
  const std::int64_t taken = last == kNever ? next_ : std::min(next_, last + 1);
  for (std::size_t p = 0; p < first_.size(); ++p) report.tallies.push_back(tally(p, taken));
  count_cases(report, taken);
  count_listed(report, taken);
  report.launches = launches_.all();
  report.wanted = options_.shard.of(wanted_);
  report.first_too_large = too_large_.reason;
  // A run in which every property has failed has nothing left to ask.
  const bool unfinished = last == kNever && report.cases < report.wanted;
  report.interrupted =
      interrupted_ || (unfinished && (options_.only_answered || options_.stopped()));
  report.gave_up = unfinished && !report.interrupted;
  report.failures = failures_;
  return report;
}

}  // namespace mla::prop

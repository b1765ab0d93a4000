#include "properties/judge/findings.hpp"

#include <algorithm>
#include <utility>

namespace mla::prop {
namespace {

std::vector<Tag> owed_tags(const RunOptions& options) {
  StepKinds judged{};
  for (const Property* property : options.properties) {
    const StepKinds kinds = judged_kinds(*property, *options.backend, options.arch);
    for (std::size_t k = 0; k < kinds.size(); ++k) judged[k] = judged[k] || kinds[k];
  }
  std::vector<Tag> owed;
  for (const Tag& tag : all_tags())
    if (is_owed(tag, judged, options)) owed.push_back(tag);
  return owed;
}

}  // namespace

Findings::Findings(const RunOptions& options, const CaseSource& cases)
    : options_(options),
      cases_(cases),
      tags_(owed_tags(options)),
      first_(options.properties.size()),
      skips_(options.properties.size()),
      unsettled_(options.properties.size()),
      launches_(options.properties.size()),
      seconds_(options.properties.size()) {}

Findings::Record Findings::empty_record() const {
  Record record;
  record.back = true;
  record.verdicts.assign(first_.size(), Verdict::inconclusive);
  record.step_refused.resize(first_.size());
  return record;
}

void Findings::come_back(std::int64_t index, Record record) {
  records_[static_cast<std::size_t>(index)] = std::move(record);
  while (frontier_ < next() && records_[static_cast<std::size_t>(frontier_)].back) ++frontier_;
}

void Findings::pass_over() {
  const std::int64_t index = next() - 1;
  come_back(index, empty_record());
  launches_.note(index, {});
  add_launches();
}

std::vector<std::size_t> Findings::still_asked(std::int64_t index) const {
  std::vector<std::size_t> asked;
  for (std::size_t p = 0; p < first_.size(); ++p)
    if (first_[p].index > index) asked.push_back(p);
  return asked;
}

void Findings::note_too_large(std::int64_t index, const CaseAnswer& answer, Record& record) {
  if (index < too_large_.index) too_large_ = {index, answer.too_large};
  for (const std::size_t p : answer.asked) {
    record.verdicts[p] = Verdict::skip;
    skips_[p].note(index, Verdict::skip, answer.too_large);
  }
  record.too_large = true;
}

std::vector<bool> Findings::tags_of(std::int64_t index, const Case& c) const {
  std::vector<bool> out;
  if (cases_.is_drawn(index))
    for (const Tag& tag : tags_) out.push_back(tag.holds(c));
  return out;
}

void Findings::keep(std::int64_t index, const Case& c, std::vector<bool> tags, CaseAnswer answer) {
  Record record = empty_record();
  record.tags = std::move(tags);
  if (!answer.too_large.empty()) {
    note_too_large(index, answer, record);
    answer.asked.clear();
  }
  Judgement& judgement = answer.judgement;
  record.kind = c.kind();
  record.not_planned = judgement.refused;
  record.done = !judgement.cut;
  for (std::size_t i = 0; i < answer.asked.size(); ++i) {
    const std::size_t p = answer.asked[i];
    Outcome& outcome = judgement.outcomes[i];
    record.verdicts[p] = outcome.verdict;
    record.step_refused[p] = judgement.executions[i].refused;
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
  come_back(index, std::move(record));
  launches_.note(index, {std::move(answer.asked), std::move(judgement.executions),
                         std::move(judgement.shared)});
  add_launches();
  ++judged_;
}

std::int64_t Findings::last_first_failure() const {
  std::int64_t last = -1;
  for (const FirstFailure& f : first_) last = std::max(last, f.index);
  return last;
}

std::int64_t Findings::next_certain() const {
  std::int64_t certain = kNever;
  for (const FirstFailure& f : first_)
    if (f.index >= explained_ && f.index < frontier_) certain = std::min(certain, f.index);
  return certain;
}

Findings::Certain Findings::certain(std::int64_t index) const {
  Certain out;
  for (std::size_t p = 0; p < first_.size(); ++p) {
    if (first_[p].index > index) out.others.push_back(options_.properties[p]);
    if (first_[p].index != index) continue;
    out.c = first_[p].c;
    out.failing.push_back({options_.properties[p], first_[p].outcome});
  }
  return out;
}

void Findings::settle(std::int64_t index, std::vector<Failure> failures) {
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

void Findings::add_launches() {
  std::vector<std::int64_t> last;
  for (const FirstFailure& f : first_) last.push_back(f.index);
  launches_.add_up_to(next_certain(), last);
}

}  // namespace mla::prop

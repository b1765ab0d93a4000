#include "properties/judge/search.hpp"

#include <algorithm>
#include <utility>

#include "properties/judge/parallel.hpp"
#include "properties/step/estimate.hpp"

namespace mla::prop {

namespace {

using std::chrono::milliseconds;

// How long shrinking may go on when the time of the run is over.
milliseconds grace_of(const RunOptions& options) {
  return std::max(milliseconds(10'000), options.time_limit.value_or(milliseconds(0)) / 10);
}

// The first case of the known answers on which each property failed; kNever without one.
std::vector<std::int64_t> first_failures(const RunOptions& options) {
  std::vector<std::int64_t> first(options.properties.size(), kNever);
  if (options.answers == nullptr) return first;
  for (const auto& [index, answer] : *options.answers)
    for (std::size_t i = 0; i < answer.judgement.outcomes.size(); ++i) {
      const std::size_t p = answer.asked[i];
      if (answer.judgement.outcomes[i].verdict == Verdict::fail && p < first.size())
        first[p] = std::min(first[p], index);
    }
  return first;
}

}  // namespace

Search::Search(const RunOptions& options, int workers, MemoryBudget& memory)
    : options_(options),
      workers_(workers),
      memory_(memory),
      cases_(options),
      known_failures_(first_failures(options)),
      findings_(options, cases_) {}

RunReport Search::run() {
  on_workers(workers_, [this] {
    while (const auto index = take()) {
      judge_case(*index);
      explain();
    }
  });
  explain();
  return findings_.report(interrupted_);
}

bool Search::over(milliseconds grace) const {
  if (options_.stopped()) return true;
  return options_.time_limit &&
         std::chrono::steady_clock::now() - start_ >= *options_.time_limit + grace;
}

// The index of the next case, or nothing when the search is over. What has an answer takes no time:
// a run whose time was used up before counts all that it found.
std::optional<std::int64_t> Search::take() {
  const std::lock_guard lock(mutex_);
  while (true) {
    const std::int64_t index = findings_.next();
    if (findings_.last_first_failure() < index || index >= cases_.end()) return std::nullopt;
    const bool late = over(milliseconds(0));
    interrupted_ = interrupted_ || (late && options_.stopped());
    if (late && (interrupted_ || index >= cases_.answered_end())) return std::nullopt;
    findings_.begin_case();
    if (cases_.is_mine(index) && (!late || cases_.answer(index) != nullptr)) return index;
    findings_.pass_over();
  }
}

void Search::judge_case(std::int64_t index) {
  const Case c = cases_.at(index);
  std::vector<bool> tags = findings_.tags_of(index, c);
  std::vector<std::size_t> asked;
  {
    const std::lock_guard lock(mutex_);
    asked = findings_.still_asked(index);
  }
  CaseAnswer found = answer(index, c, std::move(asked));
  const std::lock_guard lock(mutex_);
  findings_.keep(index, c, std::move(tags), std::move(found));
  options_.progress(findings_.judged(), options_.time_limit ? 0 : cases_.wanted());
}

CaseAnswer Search::answer(std::int64_t index, const Case& c, std::vector<std::size_t> asked) {
  if (auto known = known_answer(index, asked, c)) return std::move(*known);
  CaseAnswer out{.asked = std::move(asked), .judgement = {}, .too_large = why_too_large(c)};
  if (out.too_large.empty()) {
    std::vector<const Property*> properties;
    for (const std::size_t p : out.asked) properties.push_back(options_.properties[p]);
    const MemoryBudget::Share memory(memory_, estimate_of(c).bytes());
    const auto stopped = [this] { return over(milliseconds(0)); };
    out.judgement = options_.stopped() || (memory.waited() && stopped())
                        ? interrupted(properties.size())
                        : judge(c, properties, *options_.backend, options_.interposer,
                                options_.ledger, stopped);
  }
  if (!out.judgement.cut) {
    const std::lock_guard lock(mutex_);
    options_.answered(index, out);
  }
  return out;
}

std::optional<CaseAnswer> Search::known_answer(std::int64_t index,
                                               const std::vector<std::size_t>& asked,
                                               const Case& c) const {
  const CaseAnswer* const answer = cases_.answer(index);
  if (answer == nullptr) return std::nullopt;
  const CaseAnswer& known = *answer;
  // More memory than before judges what was too large; a merge judges nothing.
  if (!known.too_large.empty() && !options_.only_answered && why_too_large(c).empty())
    return std::nullopt;
  CaseAnswer out{.asked = {}, .judgement = {}, .too_large = known.too_large};
  out.judgement.shared = known.judgement.shared;
  for (const std::size_t p : asked) {
    const auto at = std::find(known.asked.begin(), known.asked.end(), p);
    // It was not asked since it had failed before, on a case that may not have come back yet.
    if (at == known.asked.end()) {
      if (known_failures_[p] >= index) return std::nullopt;
      continue;
    }
    out.asked.push_back(p);
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
  out.judgement.refused = is_refused(c.kind(), found(out.judgement), known.judgement.refused,
                                     options_.backend->device(c.kind()).empty());
  return out;
}

std::string Search::why_too_large(const Case& c) const {
  const Estimate estimate = estimate_of(c);
  if (memory_.allows(estimate.bytes())) return {};
  return need_text(c, estimate) + "; a case may take " + bytes_text(options_.memory);
}

void Search::explain() {
  std::unique_lock lock(mutex_);
  while (!explaining_ && findings_.next_certain() != kNever) {
    explaining_ = true;
    const std::int64_t index = findings_.next_certain();
    Findings::Certain certain = findings_.certain(index);
    lock.unlock();
    std::vector<Failure> failures =
        defects_of(options_, memory_, certain.c, std::move(certain.failing),
                   std::move(certain.others), [this] { return over(grace_of(options_)); });
    lock.lock();
    findings_.settle(index, std::move(failures));
    explaining_ = false;
  }
}

}  // namespace mla::prop

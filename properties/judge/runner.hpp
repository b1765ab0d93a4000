// The runner: draws cases, judges each by every selected property, shrinks what fails.
//
// Cases are drawn by RapidCheck under an id of our own, never under one from the environment; a
// failure carries everything that reproduces it: the case line first. Cases that ran are counted
// for each property: zero is inconclusive unless the property can say nothing on the backend, and
// so is a large run without the kinds of cases that defects sit in (tags.hpp). Launches are counted
// as well, and a case on which another backend ran is no pass (judge.hpp). Cases are judged in
// parallel, and the report of a seed is the same for any number of workers, as long as no time
// limit and no signal cuts it off. `backend` must be set.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/backend.hpp"
#include "properties/judge/answers.hpp"
#include "properties/judge/judge.hpp"
#include "properties/judge/ledger.hpp"
#include "properties/step/property.hpp"

namespace mla::prop {

struct Failing {
  const Property* property = nullptr;
  Outcome outcome;
};

// One defect: what it breaks, and a smallest case that shows it (defects.hpp).
struct Failure {
  const Property* property = nullptr;  // that the case was shrunk for
  Case smallest;                       // after shrinking
  Case original;                       // as drawn
  Outcome outcome;                     // of the smallest case
  std::vector<Failing> also = {};      // other properties that fail on the smallest case
  std::uint64_t seed = 0;
  std::int64_t shrinks = 0;
  bool cut = false;  // shrinking was stopped before it was done
  std::string replay_options;
  [[nodiscard]] bool concerns(const Property& p) const;
};

struct RunOptions {
  std::vector<const Property*> properties;
  std::vector<Case> cases;        // judged first, as they are (shipped or enumerated)
  std::int64_t random_cases = 0;  // then this many random ones
  // Then random ones until this has passed. If it passes before the cases above are judged, the run
  // gave up.
  std::optional<std::chrono::milliseconds> time_limit;
  std::uint64_t seed = 1;
  bool production = false;   // random cases of production shapes as well (generate/regimes.hpp)
  std::optional<Arch> arch;  // random cases of this one only, for a device that is of no other
  const Backend* backend = nullptr;
  const Interposer* interposer = nullptr;
  Ledger ledger;       // what is known to fail here, see concerning()
  double memory = 0;   // bytes that the cases judged at once may need together; 0: no limit
  int workers = 0;     // cases judged at once; 0: as many as the machine has cores
  bool shrink = true;  // whether a failing case is made smaller
  // What a replay needs besides case and property, such as " --backend hip".
  std::string replay_options;
  // Called after every judged case with the number judged so far and the number wanted (0:
  // unknown); by one thread at a time.
  std::function<void(std::int64_t, std::int64_t)> progress = [](std::int64_t, std::int64_t) {};
  // Called with every failure once it is shrunk, in the order of the report; by one thread at a
  // time, never while `progress` is.
  std::function<void(const Failure&)> found = [](const Failure&) {};
  Shard shard;  // which of the cases; all of them
  // Cases that need not be judged any more; null: none. With `only_answered` no other is.
  const Answers* answers = nullptr;
  bool only_answered = false;
  // Called with what was found about each case that was judged to its end; by one thread at a time.
  std::function<void(std::int64_t, const CaseAnswer&)> answered = [](std::int64_t,
                                                                     const CaseAnswer&) {};
  // Ends the run early: no further case begins, shrinking stops, the report says so.
  Stopped stopped = [] { return false; };
};

struct PropertyTally {
  const Property* property = nullptr;
  std::int64_t ran = 0;
  std::int64_t skipped = 0;
  std::int64_t failed = 0;
  std::string why_skipped;         // the most telling reason, see skip_reasons.hpp
  std::int64_t known = 0;          // of those that ran, failed as the ledger has it
  std::int64_t skipped_alike = 0;  // cases that were skipped for this reason
  std::int64_t unsettled = 0;      // held, but the backend that was named launched nothing
  std::string why_unsettled = {};  // the first of them
  // Why the property is about no case on this backend, or about none of the given cases where no
  // other was drawn; otherwise empty.
  std::string never_applies = {};
  std::int64_t launches = 0;  // of the backend that was named
  double seconds = 0;         // of all workers; what properties share, the first one pays
};

struct LedgerTally {
  LedgerEntry entry;
  std::int64_t covered = 0;  // cases in which a property of the entry ran and met the condition
  std::int64_t failed = 0;   // of these, cases in which a property failed because of the finding
  // known_fail: every witness fails as listed; unexpected_pass: one holds; inconclusive: one did
  // not run, or fails in another way. Witnesses of properties that the run does not ask are left.
  Verdict verdict = Verdict::known_fail;
  std::string message;  // what a witness did instead of failing
};

struct TagTally {
  std::string_view tag;
  std::int64_t cases = 0;     // random ones that were not refused
  std::int64_t one_in = 100;  // its quota
};

struct RunReport {
  std::vector<PropertyTally> tallies;
  std::vector<LedgerTally> ledger;
  std::vector<TagTally> tags;
  std::int64_t random_cases = 0;  // of those judged, random and not refused
  // One for each defect, in the order of the cases. A property that failed is not asked again.
  std::vector<Failure> failures;
  std::int64_t cases = 0;       // cases judged by every property that was still asked
  std::int64_t wanted = 0;      // cases asked for, beside those that fill the time
  std::int64_t refused = 0;     // of these, refused by shape or builder, with a reason
  Launches launches;            // for the verdicts above; not for shrinking and witnesses
  std::int64_t too_large = 0;   // cases that were not judged for want of memory
  std::string first_too_large;  // what the first case, given or random, would need
  bool gave_up = false;         // the time limit passed before the wanted cases were judged
  bool interrupted = false;     // RunOptions::stopped() ended it
  double seconds = 0;
  // Tags that too few of many random cases have.
  [[nodiscard]] std::vector<TagTally> missed_quotas() const;
  [[nodiscard]] ExitCode exit_code() const;
};

RunReport run_properties(const RunOptions& options);

// The failure block of design "Verdicts": `FAIL P05,P08 <case>`, the sentence, REPRO, seed,
// details. Ends with a newline.
std::string failure_block(const Failure& failure);
// `P05,P08`: the property that the case was shrunk for, then the others that fail on it.
std::string failing_ids(const Failure& failure);

}  // namespace mla::prop

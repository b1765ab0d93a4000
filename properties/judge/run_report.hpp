// RunReport: what a run counted and found.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/launches.hpp"
#include "properties/judge/failure.hpp"
#include "properties/judge/ledger.hpp"
#include "properties/step/property.hpp"
#include "properties/step/verdict.hpp"

namespace mla::prop {

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
  // not run and none failed, or one fails in another way. Witnesses of properties that the run does
  // not ask are left.
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

}  // namespace mla::prop

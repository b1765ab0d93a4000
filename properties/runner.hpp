// The runner: draws cases, judges each by every selected property, shrinks what fails.
//
// Cases are drawn by RapidCheck under an id of our own, never under one from the environment; a
// failure carries everything that reproduces it: the case line first. Cases that ran are counted
// for each property: zero is inconclusive, and so is a large run without the kinds of cases that
// defects sit in (tags.hpp). Cases are judged in parallel, and the report of a seed
// is the same for any number of workers, as long as no time limit cuts it off. Fails: never;
// `backend` must be set.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/backend.hpp"
#include "properties/ledger.hpp"
#include "properties/property.hpp"

namespace mla::prop {

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
  int workers = 0;     // cases judged at once; 0: as many as the machine has cores
  bool shrink = true;  // whether a failing case is made smaller
  // What a replay needs besides case and property, such as " --backend hip".
  std::string replay_options;
  // Called after every judged case with the number judged so far and the number wanted (0:
  // unknown); by one thread at a time.
  std::function<void(std::int64_t, std::int64_t)> progress;
};

struct Failure {
  const Property* property = nullptr;
  Case smallest;    // after shrinking
  Case original;    // as drawn
  Outcome outcome;  // of the smallest case
  std::uint64_t seed = 0;
  std::int64_t shrinks = 0;
  std::string replay_options;
};

struct PropertyTally {
  const Property* property = nullptr;
  std::int64_t ran = 0;
  std::int64_t skipped = 0;
  std::int64_t failed = 0;
  std::string first_skip;  // why the first skipped case was skipped
  std::int64_t known = 0;  // of those that ran, failed as the ledger has it
};

struct LedgerTally {
  LedgerEntry entry;
  std::int64_t cases = 0;  // that it covered
  // known_fail: every witness fails as listed; unexpected_pass: one holds; inconclusive: one did
  // not run; skip: quarantined.
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
  std::vector<Failure> failures;  // at most one for each property, which then is not asked again
  std::int64_t cases = 0;         // cases judged
  std::int64_t refused = 0;       // of these, refused by shape or builder, with a reason
  bool gave_up = false;           // the time limit passed before the wanted cases were judged
  double seconds = 0;
  // Tags that too few of many random cases have.
  [[nodiscard]] std::vector<TagTally> missed_quotas() const;
  [[nodiscard]] ExitCode exit_code() const;
};

RunReport run_properties(const RunOptions& options);

// The failure block of design "Verdicts": `FAIL P05 <case>`, the sentence, REPRO, seed, details.
std::string failure_block(const Failure& failure);

}  // namespace mla::prop

// RunOptions: which cases a run judges, by which properties, on which backend. `backend` must be
// set.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/backend.hpp"
#include "properties/judge/answers.hpp"
#include "properties/judge/failure.hpp"
#include "properties/judge/judge.hpp"
#include "properties/judge/ledger.hpp"
#include "properties/step/property.hpp"

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
  bool widths = false;       // random cases of other row widths as well (generate/row_widths.hpp)
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

}  // namespace mla::prop

// Execution: what was executed for the properties of a case, and the sums of a run.
//
// The code that launches kernels counts them (core/engine/launches.hpp). Here they are attributed:
// a step of the case itself is executed once and shared by all properties that look at it,
// everything else belongs to the property that asked for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/engine/launches.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"

namespace mla::prop {

// Whether the step was declined: no kernel or planner takes it, or it meets a known defect.
inline bool is_refusal(const Error& error) {
  return error.code == ErrorCode::unsupported || error.code == ErrorCode::refused;
}

// Of one property on one case.
struct Execution {
  bool executed = false;  // a step ran and gave a result
  bool shared = false;    // the case's own step was one of them
  bool refused = false;   // the case's own step was asked for, and refused
  Launches own;           // of all others
  std::string failed;     // what the first launch said that gave a fault instead of a result
};

// Where a case's executions are noted while its properties are checked, one after the other.
class ExecutionLog {
 public:
  // A step ran for the property at hand.
  void note(const Launches& launches);
  // A launch gave an error. One of a device or a kernel is kept; a refusal says nothing.
  void note(const Error& error);
  // Until end_shared() it is the case's own step that runs.
  void begin_shared() { in_shared_ = true; }
  void end_shared() { in_shared_ = false; }
  // The property at hand looks at the case's own step, which gave a result or this error.
  void use_shared(const MaybeError& error);
  // What the property at hand executed; the next one begins.
  [[nodiscard]] Execution take();
  [[nodiscard]] const Launches& shared() const MLA_LIFETIME_BOUND { return shared_; }

 private:
  bool in_shared_ = false;
  Execution at_hand_;
  Launches shared_;
  std::string shared_failed_;
};

// What the properties of one case had executed: executions[i] by the property with the index
// properties[i].
struct CaseExecutions {
  std::vector<std::size_t> properties;
  std::vector<Execution> executions;
  Launches shared;
};

// The launches of a run. A case counts for a property up to the property's first failure; cases may
// come in any order, and the sums do not depend on it.
class LaunchSums {
 public:
  explicit LaunchSums(std::size_t properties) : of_property_(properties) {}
  void note(std::int64_t index, CaseExecutions executions);
  // Adds the cases up to `limit` that are in without a gap. `last[p]`: the case at which property p
  // failed first, which for these cases is certain.
  void add_up_to(std::int64_t limit, const std::vector<std::int64_t>& last);
  // A step that several properties share counts once.
  [[nodiscard]] const Launches& all() const MLA_LIFETIME_BOUND { return all_; }
  [[nodiscard]] const Launches& of_property(std::size_t p) const MLA_LIFETIME_BOUND {
    return of_property_[p];
  }

 private:
  void add(const CaseExecutions& executions, const std::vector<std::int64_t>& last);
  std::map<std::int64_t, CaseExecutions> ahead_;  // cases that wait for one before them
  std::int64_t next_ = 0;                         // the first case that is not added
  Launches all_;
  std::vector<Launches> of_property_;
};

}  // namespace mla::prop

// What came out of a calibration: how often plan_check and a kernel agree, and one plan of each
// kind as a line of the corpus that every CI run replays without binaries (fixtures/plans).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/case/case.hpp"
#include "hip_backend/aiter/manifest.hpp"
#include "tests/hip_backend/aiter/calibration/plan_changes.hpp"

namespace mla::hip::aiter::test {

// One plan on one kernel.
struct PlanVerdict {
  std::string wrong;                        // empty: the kernel is right
  std::vector<plan::Violation> violations;  // empty: plan_check calls the plan valid
};

struct Counts {
  std::int64_t right_valid = 0, right_invalid = 0, wrong_invalid = 0, wrong_valid = 0;
  void count(const PlanVerdict& verdict);
};

// Prints where the two disagree: a wrong plan that is valid, and with `all` also a right one that
// is not.
void tell(const PlanChange& change, const PlanVerdict& verdict, bool all);

// The kernel of a row without the suffixes of its variants: those that return the LSE, do not mask,
// or take the keys of several ranks are one family.
std::string kernel_family(Arch arch, const ManifestRow& row);

// "coverage,reduce_list"
std::string rules_of(const std::vector<plan::Violation>& violations);

class CalibrationTable {
 public:
  void count(const std::string& kernel, std::string_view change, const PlanVerdict& verdict);
  // Two tables in Markdown: by kernel and by kind of change.
  void print() const;
  [[nodiscard]] std::int64_t plans() const;
  [[nodiscard]] std::int64_t wrong_valid() const;

 private:
  std::map<std::string, Counts> by_kernel_, by_change_;
};

// Keeps the first plan of each kind: kernel, change, and both verdicts.
class Corpus {
 public:
  void add(const std::string& kernel, const Case& spec, const PlanChange& change,
           const plan::PlanCheckInput& input, const PlanVerdict& verdict);
  [[nodiscard]] bool write(const std::string& path) const;

 private:
  std::set<std::string> kinds_;
  std::vector<std::string> lines_;
};

}  // namespace mla::hip::aiter::test

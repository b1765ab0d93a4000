// Findings: what a run has found, case by case, and its report.
//
// The first failure of a property is that of the lowest case, not the earliest in time: the report
// does not depend on the number of workers. A first failure is certain once every earlier case has
// come back. After its first failure, drawn or met on another property's smallest case, a property
// is no longer counted. Not for several threads at once. Private to properties.
#pragma once

#include <cstdint>
#include <vector>

#include "core/lifetime.hpp"
#include "properties/judge/case_source.hpp"
#include "properties/judge/defects.hpp"
#include "properties/judge/judge.hpp"
#include "properties/judge/run_options.hpp"
#include "properties/judge/run_report.hpp"
#include "properties/judge/skip_reasons.hpp"
#include "properties/judge/tags.hpp"
#include "properties/step/execution.hpp"

namespace mla::prop {

class Findings {
 public:
  // All outlive the findings.
  Findings(const RunOptions& options MLA_LIFETIME_BOUND,
           const CaseSource& cases MLA_LIFETIME_BOUND);

  // The number of the next case.
  [[nodiscard]] std::int64_t next() const { return std::ssize(records_); }
  void begin_case() { records_.emplace_back(); }
  // Leaves the last case to others.
  void pass_over();
  // Properties that have not failed before the case, by their place in the run.
  [[nodiscard]] std::vector<std::size_t> still_asked(std::int64_t index) const;
  // Which of the owed tags the case has; none of a given case. By any thread.
  [[nodiscard]] std::vector<bool> tags_of(std::int64_t index, const Case& c) const;
  void keep(std::int64_t index, const Case& c, std::vector<bool> tags, CaseAnswer answer);
  // Cases that keep() took.
  [[nodiscard]] std::int64_t judged() const { return judged_; }

  // Where every property has failed; kNever while one holds.
  [[nodiscard]] std::int64_t last_first_failure() const;

  // The first case whose failures are certain and not reported yet; kNever if there is none.
  [[nodiscard]] std::int64_t next_certain() const;
  struct Certain {
    Case c;
    std::vector<Failing> failing;
    std::vector<const Property*> others;  // that may fail on what comes of the case
  };
  [[nodiscard]] Certain certain(std::int64_t index) const;
  // What came of shrinking the case.
  void settle(std::int64_t index, std::vector<Failure> failures);

  // `interrupted`: a signal ended the run.
  [[nodiscard]] RunReport report(bool interrupted) const;

 private:
  struct Record {
    bool back = false;  // its worker is done with it
    bool done = false;  // and asked every property that was still to ask
    bool too_large = false;
    StepKind kind = StepKind::decode;
    bool not_planned = false;        // of decode
    std::vector<Verdict> verdicts;   // of each property; inconclusive where it was not asked
    std::vector<bool> step_refused;  // to each property
    std::vector<bool> tags;          // of a random case
    struct Listed {
      std::size_t property;
      std::size_t entry;
      bool failed;  // the entry explains a failure of the property, or only covers its launches
    };
    std::vector<Listed> listed;
  };
  struct FirstFailure {
    std::int64_t index = kNever;  // of the case
    Case c;
    Outcome outcome;
    bool on_smallest = false;  // not on this case, but on the smallest one that came of it
  };
  struct TooLarge {
    std::int64_t index = kNever;
    std::string reason;
  };
  [[nodiscard]] Record empty_record() const;
  void note_too_large(std::int64_t index, const CaseAnswer& answer, Record& record);
  void come_back(std::int64_t index, Record record);
  // Adds up the launches of cases that no failure can rule out any more.
  void add_launches();
  // By what those properties found that had not failed before: others may have been asked too.
  [[nodiscard]] bool refused(std::int64_t index) const;
  [[nodiscard]] bool says_nothing_about_any(std::size_t p, std::int64_t taken) const;
  [[nodiscard]] PropertyTally tally(std::size_t p, std::int64_t taken) const;
  void count_cases(RunReport& report, std::int64_t taken) const;
  void count_listed(RunReport& report, std::int64_t taken) const;

  const RunOptions& options_;
  const CaseSource& cases_;
  const std::vector<Tag> tags_;  // that random cases need
  std::int64_t judged_ = 0;
  std::int64_t frontier_ = 0;   // every case before this one has come back
  std::int64_t explained_ = 0;  // first failures before this case are reported
  std::vector<Failure> failures_;
  std::vector<Record> records_;
  std::vector<FirstFailure> first_;
  std::vector<SkipReasons> skips_;
  std::vector<SkipReasons> unsettled_;
  LaunchSums launches_;
  std::vector<double> seconds_;  // of each property
  TooLarge too_large_;
};

}  // namespace mla::prop

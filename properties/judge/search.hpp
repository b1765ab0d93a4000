// Search: judges many cases at once and keeps the first failure of each property.
//
// First means lowest in the order of the cases, not in time: the result does not depend on the
// number of workers. A first failure is certain once every earlier case is judged; then one worker
// shrinks it while the others go on, and RunOptions::found() gets it. A property is not asked again
// after its first failure, drawn or found on another property's smallest case. Private to
// properties.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "properties/judge/defects.hpp"
#include "properties/judge/judge.hpp"
#include "properties/judge/runner.hpp"
#include "properties/judge/skip_reasons.hpp"
#include "properties/judge/tags.hpp"
#include "properties/step/execution.hpp"

namespace mla::prop {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

struct FirstFailure {
  std::int64_t index = kNever;  // of the case
  Case c;
  Outcome outcome;
  bool on_smallest = false;  // not on this case, but on the smallest one that came of it
};

class Search {
 public:
  // `options` outlives the search; `backend` is the one to run on.
  Search(const RunOptions& options, const Backend& backend);

  // Judges cases until they or the time are used up, or every property has failed.
  // So many at once.
  void run(int workers);

  // Failures, cases and verdicts; run() has returned.
  [[nodiscard]] RunReport report() const;

 private:
  struct Record {
    bool back = false;  // its worker is done with it
    bool done = false;  // and asked every property that was still to ask
    bool refused = false;
    bool too_large = false;
    std::vector<Verdict> verdicts;  // of each property; inconclusive where it was not asked
    std::vector<bool> tags;         // of a random case
    struct Listed {
      std::size_t property;
      std::size_t entry;
      bool failed;  // the entry explains a failure of the property, or only covers its launches
    };
    std::vector<Listed> listed;
  };
  [[nodiscard]] std::optional<std::int64_t> take();
  [[nodiscard]] bool over(std::chrono::milliseconds grace) const;
  [[nodiscard]] Case case_at(std::int64_t index) const;
  [[nodiscard]] std::vector<std::size_t> still_asked(std::int64_t index);
  void judge_case(std::int64_t index);
  // Whether the case is of this run's shard, or has an answer where only those count.
  [[nodiscard]] bool is_mine(std::int64_t index) const;
  // One past the last case; kNever while only time ends the run.
  [[nodiscard]] std::int64_t end() const;
  // Leaves a case to others.
  void pass_over(std::int64_t index);
  // What is known about the case and covers `asked`.
  [[nodiscard]] std::optional<CaseAnswer> known_answer(std::int64_t index,
                                                       const std::vector<std::size_t>& asked,
                                                       StepKind kind) const;
  void keep(std::int64_t index, const Case& c, CaseAnswer answer, Record record);
  void note_too_large(std::int64_t index, const CaseAnswer& answer, Record& record);
  // Why the case needs more memory than a worker may take; empty if it does not.
  [[nodiscard]] std::string why_too_large(const Case& c) const;
  // Adds up the launches of cases that no failure can rule out any more.
  void add_launches();
  // Shrinks and reports what is certain by now; one worker at a time.
  void explain();
  [[nodiscard]] std::int64_t next_certain() const;
  void settle(std::int64_t index, std::vector<Failure> failures);
  [[nodiscard]] std::int64_t last_first_failure() const;
  [[nodiscard]] PropertyTally tally(std::size_t p, std::int64_t taken) const;
  void count_cases(RunReport& report, std::int64_t taken) const;
  void count_listed(RunReport& report, std::int64_t taken) const;

  const RunOptions& options_;
  const Backend& backend_;
  const std::int64_t wanted_;    // cases to judge before any that only fill the time
  const std::vector<Tag> tags_;  // that the random cases owe
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();

  std::mutex mutex_;  // guards everything below
  std::int64_t next_ = 0;
  std::int64_t judged_ = 0;
  std::int64_t frontier_ = 0;   // every case before this one has come back
  std::int64_t explained_ = 0;  // first failures before this case are reported
  bool explaining_ = false;
  bool interrupted_ = false;
  std::vector<Failure> failures_;
  std::vector<Record> records_;
  std::vector<FirstFailure> first_;
  std::vector<SkipReasons> skips_;
  std::vector<SkipReasons> unsettled_;
  LaunchSums launches_;
  std::vector<double> seconds_;  // of each property
  struct TooLarge {
    std::int64_t index = kNever;
    std::string reason;
  };
  TooLarge too_large_;
  int workers_ = 1;
};

}  // namespace mla::prop

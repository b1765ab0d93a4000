// Search: judges many cases at once and keeps the first failure of each property.
//
// First means lowest in the order of the cases, not in time: the result does not depend on the
// number of workers. A property is not asked again behind its first failure. Private to properties.
// Fails: never.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "properties/judge.hpp"
#include "properties/runner.hpp"

namespace mla::prop {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

struct FirstFailure {
  std::int64_t index = kNever;  // of the case
  Case c;
  Outcome outcome;
};

class Search {
 public:
  // `options` outlives the search; `backend` is the one to run on.
  Search(const RunOptions& options, const Backend& backend);

  // Judges cases until they or the time are used up, or every property has failed.
  void run(int workers);

  // For each property of the options, in their order.
  [[nodiscard]] const std::vector<FirstFailure>& first_failures() const { return first_; }
  // Counts cases and verdicts; run() has returned.
  [[nodiscard]] RunReport counts() const;

 private:
  struct Record {
    bool refused = false;
    std::vector<Verdict> verdicts;  // of each property; inconclusive where it was not asked
    std::vector<bool> tags;         // of a random case
    struct Listed {
      std::size_t property;
      std::size_t entry;
    };
    std::vector<Listed> listed;  // properties whose verdict comes from an entry of the ledger
  };
  [[nodiscard]] std::optional<std::int64_t> take();
  [[nodiscard]] Case case_at(std::int64_t index) const;
  [[nodiscard]] std::vector<std::size_t> still_asked(std::int64_t index);
  void judge_case(std::int64_t index);
  void keep(std::int64_t index, const Case& c, const std::vector<std::size_t>& asked,
            Judgement judgement, Record record);
  // Takes the properties that are quarantined for the case out of `asked`, into the record.
  void quarantine(std::int64_t index, const Case& c, std::vector<std::size_t>& asked,
                  Record& record);
  void note_skip(std::size_t p, std::int64_t index, std::string reason);
  [[nodiscard]] std::int64_t last_first_failure() const;
  [[nodiscard]] PropertyTally tally(std::size_t p, std::int64_t cases) const;
  void count_tags(RunReport& report) const;
  void count_listed(RunReport& report) const;

  const RunOptions& options_;
  const Backend& backend_;
  const std::int64_t wanted_;  // cases to judge before any that only fill the time
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();

  std::mutex mutex_;  // guards everything below
  std::int64_t next_ = 0;
  std::int64_t judged_ = 0;
  bool out_of_time_ = false;
  std::vector<Record> records_;
  std::vector<FirstFailure> first_;
  struct FirstSkip {
    std::int64_t index = kNever;
    std::string reason;
  };
  std::vector<FirstSkip> skips_;
};

}  // namespace mla::prop

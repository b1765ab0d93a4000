// Search: judges many cases at once, and shrinks each first failure as soon as it is certain.
//
// One worker shrinks while the others go on; RunOptions::found() gets the result. Private to
// properties.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/lifetime.hpp"
#include "properties/judge/findings.hpp"
#include "properties/judge/memory_budget.hpp"

namespace mla::prop {

class Search {
 public:
  // `options` and `memory` outlive the search.
  Search(const RunOptions& options MLA_LIFETIME_BOUND, int workers, MemoryBudget& memory);

  // Judges cases until they or the time are used up, or every property has failed.
  RunReport run();

 private:
  [[nodiscard]] std::optional<std::int64_t> take();
  // Whether a signal or the time, and so much more of it, ended the run.
  [[nodiscard]] bool over(std::chrono::milliseconds grace) const;
  void judge_case(std::int64_t index);
  [[nodiscard]] CaseAnswer answer(std::int64_t index, const Case& c,
                                  std::vector<std::size_t> asked);
  // What is known about the case and covers `asked`.
  [[nodiscard]] std::optional<CaseAnswer> known_answer(std::int64_t index,
                                                       const std::vector<std::size_t>& asked,
                                                       const Case& c) const;
  // Why the case needs more memory than there is; empty if it does not.
  [[nodiscard]] std::string why_too_large(const Case& c) const;
  // Shrinks and reports what is certain by now; one worker at a time.
  void explain();

  const RunOptions& options_;
  const int workers_;
  MemoryBudget& memory_;
  const CaseSource cases_;
  const std::vector<std::int64_t> known_failures_;  // of each property
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();

  std::mutex mutex_;  // guards everything below
  Findings findings_;
  bool explaining_ = false;
  bool interrupted_ = false;
};

}  // namespace mla::prop

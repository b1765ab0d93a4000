// CaseSource: the cases of a run by their number.
//
// Given cases come first, then those drawn from the seed: a number names the same case in every
// shard and in every continuation of the run. Private to properties.
#pragma once

#include <cstdint>
#include <limits>

#include "core/lifetime.hpp"
#include "properties/judge/run_options.hpp"

namespace mla::prop {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

class CaseSource {
 public:
  explicit CaseSource(const RunOptions& options MLA_LIFETIME_BOUND);  // outlives the source

  [[nodiscard]] Case at(std::int64_t index) const;
  [[nodiscard]] bool is_drawn(std::int64_t index) const { return index >= given_; }
  // Whether the case is of this run's shard, or has an answer where only those count.
  [[nodiscard]] bool is_mine(std::int64_t index) const;
  // What was found about the case before this run began; nothing if it is new.
  [[nodiscard]] const CaseAnswer* answer(std::int64_t index) const MLA_LIFETIME_BOUND;
  // One past the last case that has such an answer.
  [[nodiscard]] std::int64_t answered_end() const;
  // One past the last case; kNever while only time ends the run.
  [[nodiscard]] std::int64_t end() const;
  // Cases of this shard to judge before any that only fill the time.
  [[nodiscard]] std::int64_t wanted() const { return options_.shard.of(wanted_); }

 private:
  const RunOptions& options_;
  const std::int64_t given_;
  const std::int64_t wanted_;
};

}  // namespace mla::prop

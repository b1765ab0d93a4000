// Where the buffers of a dump are not what the planner gives, and what it writes past their end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "properties/dump/found_plan.hpp"

namespace mla::dump {

// "work 0 kv_end", "reduce entry 3 q_begin", "work_indptr[7]": word `i` of a buffer of the plan.
std::string word_name(std::string_view buffer, std::int64_t i);

// A word that is not what the planner wrote there.
struct Difference {
  std::string word;  // "work 0 kv_end"
  std::int32_t found = 0;
  std::int32_t planned = 0;
};
// More than these are another plan, not a damaged one.
inline constexpr std::size_t kFewWords = 4;
// Where the buffers are not what was planned; of many places the first few.
std::vector<Difference> differences(const plan::Plan& planned, const FoundPlan& found);
// The differences as a sentence; empty if there is none, or so many that it is another plan.
std::string few_words(const std::vector<Difference>& words);

// Sizes as captured, and at least as large as an engine asks for: a plan keeps each word past the
// end of a buffer apart, at ten times the memory. A file may claim buffers that no engine has; they
// are cut.
plan::BufferSizes with_room(plan::BufferSizes captured, const plan::BufferSizes& asked);
// Sizes as captured, but for those that no engine has.
plan::BufferSizes at_most(plan::BufferSizes captured, const plan::BufferSizes& room);
// What a planner wrote past the end of a buffer, in words; empty: nothing.
std::string past_the_end(const plan::Plan& planned);

}  // namespace mla::dump

// Diagnosis: a plan is broken; whose fault is it?
//
// The captured call is planned again, as the original planner does it. If that gives the captured
// buffers, the planner broke a batch that it should have taken. If it gives them for another
// question (other heads, rows, dtypes, pages), the builder asked that question. If no question
// near by gives them, the buffers are not those of this step. Private to properties/cli. Fails:
// never; what cannot be planned is no answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "properties/capture/planner_call.hpp"

namespace mla::cli {

enum class Culprit : std::uint8_t { none, planner, builder, stale, after };
std::string_view name(Culprit culprit);

struct Diagnosis {
  Culprit culprit = Culprit::none;
  std::string sentence;
};

// "work 0 kv_end", "reduce entry 3 q_begin", "work_indptr[7]": word `i` of a buffer of the plan.
std::string word_name(const std::string& buffer, std::int64_t i);

// A word that is not what the planner wrote there.
struct Difference {
  std::string word;  // "work 0 kv_end"
  std::int32_t found = 0;
  std::int32_t planned = 0;
};
// Where the buffers are not what was planned; of many places the first few.
std::vector<Difference> differences(const plan::Plan& planned, const FoundPlan& found);
// The differences as a sentence; empty if there is none, or so many that it is another plan.
std::string few_words(const std::vector<Difference>& words);
// The planner fills some tails, so the buffers have to be as large as the captured ones.
plan::BufferSizes sizes_of(const FoundPlan& found);
// The same, and at least as large as an engine asks for: a plan keeps each word past the end of a
// buffer apart, at ten times the memory. A file may claim buffers that no engine has; they are cut.
plan::BufferSizes with_room(plan::BufferSizes captured, const plan::BufferSizes& asked);

// Sizes as captured, but for those that no engine has.
plan::BufferSizes at_most(plan::BufferSizes captured, const plan::BufferSizes& room);
// What a planner wrote past the end of a buffer, in words; empty: nothing.
std::string past_the_end(const plan::Plan& planned);

// What the planner wrote past the end of a buffer when it made this plan, in words: memory of
// somebody else, whatever became of the plan. Empty: nothing, or no planner made it.
std::string planner_overrun(const PlannerCall& call, const FoundPlan& found);

// `broken`: plan_check found something.
Diagnosis diagnose(const PlannerCall& call, const FoundPlan& found, bool broken);

}  // namespace mla::cli

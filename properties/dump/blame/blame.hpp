// Whose fault it is that a plan is not valid.
//
// The captured call is planned again, as the original planner does it. If that gives the captured
// buffers, the planner broke a batch that it should have taken. If it gives them for another
// call (other heads, rows, dtypes, pages), the builder made that call. If no similar call
// gives them, the buffers are not those of this step. A call that cannot be planned says nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "properties/dump/dump.hpp"

namespace mla::dump {

enum class Culprit : std::uint8_t { none, planner, builder, stale, after };
std::string_view name(Culprit culprit);

struct Diagnosis {
  Culprit culprit = Culprit::none;
  std::string sentence;
};

// Of a plan that is not valid, or whose planner wrote past the end of a buffer.
Diagnosis blame(const PlannerCall& call, const FoundPlan& found);
Diagnosis blame(const PrefillPlan& planned);

// What the planner wrote past the end of a buffer when it made this plan, in words: memory of
// another owner, whatever became of the plan. Empty: nothing, or no planner made it.
std::string overrun(const PlannerCall& call, const FoundPlan& found);
std::string overrun(const PrefillPlan& planned);

}  // namespace mla::dump

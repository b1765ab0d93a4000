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

#include "properties/cli/planner_call.hpp"

namespace mla::cli {

enum class Culprit : std::uint8_t { none, planner, builder, stale };
std::string_view name(Culprit culprit);

struct Diagnosis {
  Culprit culprit = Culprit::none;
  std::string sentence;
};

// `broken`: plan_check found something.
Diagnosis diagnose(const PlannerCall& call, const FoundPlan& found, bool broken);

}  // namespace mla::cli

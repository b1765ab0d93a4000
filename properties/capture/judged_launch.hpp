// The launch of a planned step, judged: whether what the kernel got is right, and whose fault it
// is.
//
// First the planner's buffers with the arguments of the launch (launched_call.hpp): if they are
// wrong, the builder told the planner something else than the kernel. Then lists and buffers as the
// kernel found them (checked_launch.hpp): if only those are wrong, something came after the
// planner. A difference that leaves a valid plan is a note. Private to properties. Fails: a launch
// that cannot be read.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "properties/capture/checked_plan.hpp"

namespace mla::cli {

// `check` judges a document that has no launch; `answer`, what it said of the planned one, gets the
// findings and notes. A plan that was broken when it was planned keeps its culprit.
Status judge_launch(const nlohmann::json& object,
                    const std::function<Result<PlanAnswer>(const nlohmann::json&)>& check,
                    PlanAnswer& answer);

// The same of a document without a plan, whose launch AITER runs with splits: its lists and
// arguments must be those of the call, and its rows those that a kernel is told of.
Status judge_unplanned(const nlohmann::json& object, PlanAnswer& answer);

}  // namespace mla::cli

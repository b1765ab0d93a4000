// A planner call and its plan as JSON that read/ takes.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/plan/plan.hpp"
#include "core/plan/planner.hpp"
#include "core/plan/sizes.hpp"

namespace mla::dump {

void write_planner_call(nlohmann::ordered_json& out, const plan::PlanInput& input);
// `buffer_sizes` and the five int32 buffers, flattened, null where never written, the unwritten
// tail cut off. Writes past a buffer, if there are any, are `overruns`: lists of [index, value].
void write_plan(nlohmann::ordered_json& out, const plan::BufferSizes& sizes,
                const plan::Plan& plan);

}  // namespace mla::dump

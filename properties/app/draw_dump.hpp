// The picture of a dumped plan.
//
// Fails: what has no plan to draw, with the reason.
#pragma once

#include "core/result.hpp"
#include "properties/dump/check/check.hpp"
#include "properties/show/drawn_plan.hpp"

namespace mla::app {

// The plan with what check found about it, which must be about this dump.
Result<show::DrawnPlan> draw_dump(const dump::Dump& dump, const dump::Answer& answer);

}  // namespace mla::app

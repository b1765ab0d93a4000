// What the planner of an AITER tree says of a captured plan: that it makes it, or where it differs.
//
// Adds a note to the answer; the verdict is that of the rules. Of a plan that is not valid and that
// the tree's planner makes, that planner is at fault.
#pragma once

#include "core/plan/step_planner.hpp"
#include "properties/dump/check/answer.hpp"
#include "properties/dump/dump.hpp"

namespace mla::dump {

void hold_against(const plan::StepPlanner& planner, const Dump& dump, Answer& answer);

// The architecture of the planner's call; nothing for a step that no planner planned.
std::optional<Arch> planned_arch(const Dump& dump);

}  // namespace mla::dump

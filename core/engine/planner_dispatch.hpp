// The dispatch of a program that plans, if it has one: who brings a planner may also say itself
// what its kernels take.
#pragma once

#include "core/plan/step_planner.hpp"
#include "core/shape/dispatch.hpp"

namespace mla {

// Null if there is no planner, or it does not say.
inline const Dispatch* dispatch_of(const plan::StepPlanner* planner) {
  return dynamic_cast<const Dispatch*>(planner);
}

}  // namespace mla

// PlannedStep: what `mla-testbed plan` shows of one step, as a table and as JSON.
//
// One function for each kind of step; nothing is executed. Fails: with
// whatever refuses the step.
#pragma once

#include <string>
#include <vector>

#include "core/case/case.hpp"
#include "core/engine/step_hooks.hpp"
#include "core/plan/planner.hpp"
#include "core/plan/step_planner.hpp"
#include "core/result.hpp"

namespace mla::app {

struct PlannedStep {
  std::string table;
  std::string document;                  // JSON
  std::vector<std::int32_t> pages = {};  // of a decode step: kv_indices, the live part
};

Result<PlannedStep> plan_decode_step(const Case& step, plan::Fidelity fidelity,
                                     const StepHooks& hooks,
                                     const plan::StepPlanner* planner = nullptr);
Result<PlannedStep> plan_prefill_step(const Case& step, const plan::StepPlanner* planner = nullptr);
Result<PlannedStep> plan_fa_step(const Case& step);

// By the kind of the case. Only decode steps know `fidelity`; FA steps have no plan, and know no
// planner in place of the core.
Result<PlannedStep> plan_step_of(const Case& step, plan::Fidelity fidelity,
                                 const plan::StepPlanner* planner = nullptr);
// All steps of a sequence. Fails: names the step too.
Result<std::vector<PlannedStep>> plan_steps_of(const Case& c, plan::Fidelity fidelity,
                                               const plan::StepPlanner* planner = nullptr);

}  // namespace mla::app

// What a modelled prefill engine is configured as. Pure functions of cases.
#pragma once

#include <vector>

#include "core/case/case.hpp"
#include "core/engine/prefill/hooks.hpp"
#include "core/engine/prefill/prefill_builder.hpp"

namespace mla::prop {

// Limits that hold all steps, and what an engine with them is configured as. Its planner, null for
// the core, outlives the configuration.
prefill::Limits limits_of(const std::vector<Case>& steps);
prefill::EngineConfig config_of(const Case& c, const prefill::Limits& limits,
                                const prefill::Hooks& hooks, const plan::StepPlanner* planner);

}  // namespace mla::prop

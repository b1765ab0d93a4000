// What is no violation of a plan and worth knowing: what AITER's kernels make of a valid one.
//
// Private to properties. Sources: docs/findings/aiter.md, with the number of each finding.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan_check.hpp"
#include "core/shape/kernel_table.hpp"
#include "properties/capture/planner_call.hpp"

namespace mla::cli {

// The kernel that the rows of the launch choose.
std::optional<KernelEntry> kernel_of(const PlannerCall& call);

std::vector<std::string> plan_notes(const PlannerCall& call, const plan::PlanCheckInput& input,
                                    const nlohmann::json& object);
// Works of a valid plan that the kernel gets wrong. Empty without one.
std::string straddles(const PlannerCall& call, const plan::PlanCheckInput& input);

}  // namespace mla::cli

// Notes on a valid plan: what AITER's kernels make of it that a reader should know.
//
// Sources: docs/findings/aiter.md, with the number of each finding.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan_check.hpp"
#include "core/shape/kernel_table.hpp"
#include "properties/dump/dump.hpp"

namespace mla::dump {

// The kernel that the rows of the launch choose.
std::optional<KernelEntry> kernel_of(const PlannerCall& call);

// `launch`: nothing where the dump has none.
std::vector<std::string> plan_notes(const Planning& planned, const Launch* launch,
                                    const plan::PlanCheckInput& input);
// Works of a valid plan that the kernel gets wrong.
std::vector<std::string> work_notes(const PlannerCall& call, const plan::PlanCheckInput& input);

}  // namespace mla::dump

// Why a plan is not handed out although the planner makes it: `check` would call it broken.
//
// `plan --input` and the Python package ask here, so that neither gives what the other refuses.
// Private to properties.
#pragma once

#include "core/result.hpp"
#include "properties/capture/checked_plan.hpp"

namespace mla::cli {

// The first thing that is wrong, with the number of the defect that it comes from, where it has
// one. Nothing for a plan that is valid or of a kind that is not checked.
Status why_refused(const PlanAnswer& answer);

}  // namespace mla::cli

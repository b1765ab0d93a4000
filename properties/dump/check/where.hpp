// Where a plan is wrong: how much of the batch is not computed as it should be.
#pragma once

#include <span>
#include <string>

#include "core/plan/plan_check.hpp"

namespace mla::dump {

// "2 of 8 requests (3, 5), 2 of 19 rows, 1 of 24 works": those of works with a violation, and rows
// that no work has. Empty where no request is among them. Rows are those of a kernel, which
// folds heads into rows.
std::string where_wrong(const plan::PlanCheckInput& input,
                        std::span<const plan::Violation> violations);

}  // namespace mla::dump

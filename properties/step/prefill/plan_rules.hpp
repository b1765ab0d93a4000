// The plan of a prefill step as its kernels saw it: checked by core/plan/ps_check.hpp, and searched
// for the works that made a row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/ps_check.hpp"
#include "properties/step/prefill/step.hpp"

namespace mla::prop {

struct PlanRulesInput {
  const SeenPlan& plan;
  std::int64_t heads = 16;  // of the kernel
  bool causal = true;
};

// What ps_check is asked about a plan. Lists of a prefill count tokens: what they say is what there
// is, and `keys` gets it. The spans are of the plan and of `keys`.
plan::PsCheckInput check_input_of(const PlanRulesInput& input, std::vector<std::int32_t>& keys);

// The first rule that is broken, or nothing.
std::optional<std::string> broken_rule(const PlanRulesInput& input);

// Works in use.
std::int64_t works_of(const SeenPlan& plan);

// Of the works that cover a row of a model head, the places in work_info_set.
std::vector<std::int64_t> prefill_works_of(const PrefillStep& step, std::int64_t row,
                                           std::int64_t head);

// One line for each work that covers a row of a model head, at most eight; on path flash one line
// that says why.
std::vector<std::string> guilty_works(const PrefillStep& step, std::int64_t row, std::int64_t head);

}  // namespace mla::prop

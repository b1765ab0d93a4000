// The plan of a prefill step as its kernels saw it, held to core/plan/ps_check.hpp, and who in it
// made a row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/step/prefill/run.hpp"

namespace mla::prop {

struct PlanRulesInput {
  const SeenPlan& plan;
  std::int64_t heads = 16;  // of the kernel
  bool causal = true;
};

// The first rule that is broken, or nothing.
std::optional<std::string> broken_rule(const PlanRulesInput& input);

// One line for each work that covers a row of a model head, at most eight; on path flash one line
// that says why.
std::vector<std::string> guilty_prefill_works(const PrefillStep& step, std::int64_t row,
                                              std::int64_t head);

}  // namespace mla::prop

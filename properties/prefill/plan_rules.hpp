// Plan rules: what a prefill plan has to be, said in words, and who in it made a row.
//
// Reads the buffers as the kernels saw them and the lengths, never a planner: for every request,
// tile and head the pieces lie end to end from the first key to the last that the tile sees, each
// piece belongs to one work, heads share partial rows, and the reduce lists name exactly the pieces
// of cut tiles. Source: aiter.md 5. Units: rows and tokens of the step.
// Fails: never; nonsense in the buffers becomes a sentence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/prefill/run.hpp"

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

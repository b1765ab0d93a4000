// Which kernels an AITER tree launches for a decode step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/arch.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "hip_backend/aiter_tree/tree_process.hpp"

namespace mla::hip::aiter_tree {

struct SupportQuestion {
  ComputeUnits compute_units;
  std::int64_t requests = 1;  // that are alike, each with a few keys more than rows
  std::int64_t rows = 1;      // of each
  std::int64_t heads = 16;    // as AITER gets them
  DtypePair dtype;
  bool causal = true;
  bool lse = false;     // AITER is asked for the final LSE
  bool planned = true;  // by its own planner v1.2; else without a plan, in its own splits
};

struct SupportAnswer {
  std::vector<std::string> launched;  // stage 1 first; those of Triton are not named
  std::int64_t row_heads = 0;         // of Q as stage 1 gets it; 0: it is not said
};

// Fails: with what AITER raised, or what a kernel did.
Result<SupportAnswer> launched_for(TreeProcess& tree, const SupportQuestion& question);

}  // namespace mla::hip::aiter_tree

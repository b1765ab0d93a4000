// The size queries and the planners of an AITER tree, of decode and of prefill steps, and its
// dispatch (core/shape/dispatch.hpp).
//
// Its answers are taken as they are. Fails: with what AITER raised, for a kernel of v1.2 that was
// asked for by name (AITER chooses it itself), and for sizes that are no lists.
#pragma once

#include <memory>

#include "core/plan/step_planner.hpp"
#include "hip_backend/aiter_tree/tree_process.hpp"
#include "hip_backend/gfx_emulator/exec/options.hpp"

namespace mla::hip::aiter_tree {

std::unique_ptr<plan::StepPlanner> make_tree_planner(std::shared_ptr<TreeProcess> process,
                                                     const gfx::RunOptions& run);

}  // namespace mla::hip::aiter_tree

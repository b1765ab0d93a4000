// The backend `aiter` of a whole AITER tree: its planner, dispatch, code objects and reduce, as its
// own Python calls them.
//
// Indices are looked at before a launch, as for every device: a work or a merge that may not run
// becomes a fault of the result and is left out of the lists; without a plan the launch is refused.
// Heads are padded and rows without a key are written as an engine does. The LSE is what stage 1
// computes (mla_testbed/aiter/tree/stages.py), unless the case asks AITER for it. Prefill steps run
// as tree_prefill.hpp says; of FA steps there is none. Every launch of a step runs as `run` says,
// or under the timing that is drawn from a seed. Fails: supports() gives the reason; run() with
// what AITER raised, or what its kernels did.
#pragma once

#include <memory>

#include "core/engine/backend.hpp"
#include "hip_backend/aiter_tree/tree_process.hpp"
#include "hip_backend/gfx_emulator/exec/options.hpp"

namespace mla::hip::aiter_tree {

std::unique_ptr<Backend> make_tree_backend(std::shared_ptr<TreeProcess> process,
                                           const gfx::RunOptions& run);

}  // namespace mla::hip::aiter_tree

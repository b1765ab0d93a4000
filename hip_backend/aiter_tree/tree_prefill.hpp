// The prefill kernels of an AITER tree: the works of a plan by its own mla_prefill_ps_fwd, which
// calls its code object and its reduce. The table of a forward pass (core/engine/prefill).
//
// Works are looked at before a launch, as for every device: a work that leaves its tensors is a
// fault, and nothing is launched. Steps on path flash are none of AITER's MLA. The LSE of merged
// rows is the reduce's, that of the others what the kernel computes when their works are asked once
// more as partial ones (BUG-072). AITER's Python allocates partial results itself, so the engine's
// scratch is left alone. Private to aiter_tree.
// Fails: a step with what AITER does not take or what its kernels do wrong, as a decode step does.
#pragma once

#include <memory>
#include <optional>

#include "core/engine/prefill/kernels.hpp"
#include "hip_backend/aiter_tree/tree_process.hpp"
#include "hip_backend/gfx_emulator/exec/options.hpp"

namespace mla::hip::aiter_tree {

// Nothing on another architecture than gfx950: AITER's entry point refuses it.
std::optional<prefill::Kernels> make_tree_prefill(std::shared_ptr<TreeProcess> process,
                                                  const gfx::RunOptions& run);

}  // namespace mla::hip::aiter_tree

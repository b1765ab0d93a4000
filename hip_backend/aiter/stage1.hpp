// Stage 1 of a decode run by AITER's own machine code.
//
// What the original's wrapper does around its launch: kernargs, grid, the split list, and the
// buffers that it allocates itself. Two things it does not do: works that admission keeps out are
// taken out of the work list, since these kernels know no list of skipped works; and where a kernel
// returns no LSE for rows that it writes directly, a second launch of the same works as partial
// ones asks it for theirs, so that every row can be judged by its LSE.
// Fails: no kernel for the shape (with the reason), no file, what the device says; without a plan
// nothing can be left out, so there a fault of admission is a refusal.
#pragma once

#include <memory>

#include "hip_backend/aiter/installation.hpp"
#include "hip_backend/aiter/options.hpp"
#include "hip_backend/aiter/selection.hpp"
#include "hip_backend/decode/stage1.hpp"

namespace mla::hip::aiter {

// The kernel for a shape, as the original selects it.
Result<Selection> select_for(const Installation& installation, const ResolvedShape& shape,
                             const AiterOptions& options);

std::unique_ptr<Stage1Maker> make_aiter_stage1(std::shared_ptr<Installation> installation,
                                               AiterOptions options);

}  // namespace mla::hip::aiter

// Stage 1 of AITER's entry point by AITER's own code objects, in the gfx emulator.
//
// Every tensor of the call is a fenced range of the device: what a kernel reads or writes outside
// of all of them is a fault. Private to properties/c_api. Fails: no kernel for the shape; the
// device's fault, with its report.
#pragma once

#include <optional>

#include "hip_backend/aiter/selection.hpp"
#include "properties/c_api/aiter/decode_step.hpp"

namespace mla::c_api::aiter {

// The kernel that AITER launches for a step. Without an installation only what AITER's dispatch
// itself refuses is refused, and the row has no kernel.
Result<hip::aiter::Selection> select_kernel(const DecodeStep& step);

std::optional<Failure> run_on_device(const DecodeStep& step,
                                     const hip::aiter::Selection& selection);

}  // namespace mla::c_api::aiter

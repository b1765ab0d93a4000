// AITER's prefill over the latent cache without a plan: mla_prefill_asm_fwd.
//
// bf16, 16 or 128 heads, one row of the output for each of Q; a row sees the keys up to its own,
// right-aligned. Private to properties/c_api. Fails: as stage 1; with code objects pages of
// several tokens are MLA_UNSUPPORTED.
#pragma once

#include "properties/c_api/aiter/decode_step.hpp"

namespace mla::c_api::aiter {

// `call` without plan, splits and output: split_data [rows, 1, heads, 512] bf16 is the output.
std::optional<Failure> latent_prefill(DecodeCall call);

}  // namespace mla::c_api::aiter

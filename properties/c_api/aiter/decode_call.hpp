// A checked step of AITER's stage 1 as a call of the CPU backend, which also checks its works for
// the code objects.
#pragma once

#include "cpu_backend/calls/stage1_call.hpp"
#include "properties/c_api/aiter/decode_step.hpp"

namespace mla::c_api::aiter {

// Refers to the tensors of the step, and to `step` itself. A request whose number in a work is
// beyond those of qo_indptr is a folded one: heads in groups of 16 are planned as further requests.
cpu::Stage1Call call_of(const DecodeStep& step);

}  // namespace mla::c_api::aiter

// Q, cache and lists of a batch, as stage 1 and the reference take them.
//
// Private to properties/c_api. Fails: with MLA_BAD_TENSOR or MLA_USAGE and the parameter.
#pragma once

#include "cpu_backend/calls/stage1_call.hpp"
#include "properties/c_api/border.hpp"

namespace mla::c_api {

std::optional<Failure> check_inputs(const mla_stage1_tensors& tensors, std::int64_t page_size);

// Elements of a value, which the last extent of `output` says.
std::optional<Failure> read_value_width(const mla_stage1_tensors& tensors, ValueDims& values);

// From checked tensors; plan, splits, outputs and scales are left open.
cpu::Stage1Call inputs_of(const mla_stage1_tensors& tensors, std::int64_t page_size,
                          ValueDims values);

// The scales that matter: that of Q for fp8 queries, that of the cache for fp8 caches.
std::optional<Failure> set_scales(cpu::Stage1Call& call, const mla_stage1_tensors& tensors);

}  // namespace mla::c_api

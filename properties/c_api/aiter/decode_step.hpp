// A call of AITER's stage 1, looked at before anything follows its addresses.
//
// Owns: the arguments as AITER passes them, and the same as typed spans after their checks: element
// types, dimensions, contiguity, place, and what AITER's own checks refuse. Private to
// properties/c_api. Fails: MLA_BAD_TENSOR, MLA_USAGE or MLA_UNSUPPORTED, naming the parameter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "properties/c_api/aiter/machine.hpp"
#include "properties/c_api/border.hpp"

namespace mla::c_api::aiter {

struct DecodeCall {
  const aiter_tensor_t *q, *kv, *qo_indptr, *kv_indptr, *kv_indices, *last_page_len;
  const aiter_tensor_t *splits_indptr, *work_meta_data, *work_indptr, *work_info;
  std::int64_t max_seqlen_q, page_size, kv_heads;
  float softmax_scale;
  const aiter_tensor_t *split_data, *split_lse, *output, *lse, *q_scale, *kv_scale;
  const aiter_tensor_t* global_kv_indptr;
  std::int64_t ranks, rank;
  bool causal;
};

struct DecodeStep {
  Machine machine;
  Dtype q_dtype = Dtype::bf16;
  Dtype kv_dtype = Dtype::bf16;
  std::int64_t heads = 0;   // of a row of Q
  std::int64_t q_rows = 0;  // of Q: folded copies count
  std::int64_t requests = 0;
  std::int64_t max_qo_len = 1;
  std::int64_t page_size = 1;
  std::int64_t pages = 0;       // of the cache
  std::int64_t page_bytes = 0;  // from one page to the next
  bool persistent = true;
  bool causal = true;
  float softmax_scale = 1;
  float q_scale = 1;
  float kv_scale = 1;
  std::span<const std::int32_t> qo_indptr, kv_indptr, kv_indices, last_page_len;
  std::span<const std::int32_t> work_indptr, work_info;  // persistent
  std::array<std::uint64_t, 2> work_meta_data{};         // their addresses
  std::span<const std::int32_t> splits_indptr;           // not persistent
  std::span<const std::int32_t> global_kv_indptr;        // empty: keys are not dealt out to ranks
  std::int64_t ranks = 1;
  std::int64_t rank = 0;
  std::int64_t partial_rows = 0;  // of split_data, over all splits
  std::int64_t splits = 1;        // not persistent: rows of split_data for each row of Q
  bool bf16_partials = false;     // a single split writes the output in bf16
  const std::byte* q = nullptr;
  const std::byte* kv = nullptr;
  std::byte* split_data = nullptr;  // f32, or bf16 with bf16_partials
  float* split_lse = nullptr;
  std::uint16_t* output = nullptr;
  float* lse = nullptr;  // null: not wanted
};

// Reads `call` on a machine into `step`.
std::optional<Failure> check_step(const DecodeCall& call, Machine machine, DecodeStep& step);

}  // namespace mla::c_api::aiter

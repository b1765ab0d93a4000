// One call of the reduce on the caller's own memory, as AITER's Python makes it.
//
// The arithmetic is that of a step (merge.hpp): running for two and three pieces, weighted from
// four on. Unlike in a step nothing is known of stage 1: that it wrote every piece is the caller's
// affair. Contract: aiter.md 7. Fails: heads and value dimensions that the original has no kernel
// for; what the maps do wrong is a fault of the report, and the tile is skipped.
#pragma once

#include "core/plan/plan.hpp"
#include "cpu_backend/calls/stage1_call.hpp"
#include "cpu_backend/merge.hpp"

namespace mla::cpu {

enum class ReducedType : std::uint8_t { bf16, f16 };

struct ReduceCall {
  Arch arch = Arch::gfx942;
  const float* partial_out = nullptr;  // [partial_rows, heads, dim], contiguous
  const float* partial_lse = nullptr;  // [partial_rows, heads], contiguous
  std::int64_t partial_rows = 0;
  std::int64_t heads = 0;
  std::int64_t dim = 0;
  std::span<const std::int32_t> reduce_indptr;  // [tiles + 1]
  bool has_final_map = true;
  std::span<const std::int32_t> reduce_final_map;    // rows of 2
  std::span<const std::int32_t> reduce_partial_map;  // partial rows

  ReducedType type = ReducedType::bf16;
  std::uint16_t* out = nullptr;  // element (row, head, 0) at row * row_stride + head * head_stride
  std::int64_t out_rows = 0;
  std::int64_t row_stride = 0;
  std::int64_t head_stride = 0;
  float* lse = nullptr;  // [out_rows, heads]; null: not wanted
};

// The rows to merge, each checked against everything that is read and written.
Result<MergeList> prepare_reduce_call(const ReduceCall& call);
// Runs what was checked.
CallReport run_reduce_merges(const ReduceCall& call, MergeList list, int threads);

// The final map of the call, or the one that stands for a missing one.
std::vector<std::int32_t> final_map_of(const ReduceCall& call);

}  // namespace mla::cpu

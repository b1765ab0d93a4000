// The kernels that the forward pass of a prefill step launches: a table that a backend fills.
//
// Engines take them from different libraries, and a defect can be put in the place of one. Each
// runs when the stream comes to it, reads device memory through spans, and says in `launches` what
// it launched. Contracts: aiter.md 5 (fp8 kernel), 7 (reduce), vllm_metadata.md 2.4 (gather,
// merge). Units: rows, tokens, heads of the buffers they are given.
// Fails: indices that leave a buffer become faults, never accesses.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/engine/backend.hpp"
#include "core/engine/prefill/prefill_launch.hpp"

namespace mla::prefill {

// Element (row, head) of a buffer; the innermost dimension has stride 1.
template <class T>
struct RowsView {
  T* data = nullptr;
  std::int64_t row_stride = 0;  // elements
  std::int64_t head_stride = 0;
  [[nodiscard]] T* at(std::int64_t row, std::int64_t head) const {
    return data + row * row_stride + head * head_stride;
  }
  [[nodiscard]] RowsView from_row(std::int64_t row) const {
    return {data + row * row_stride, row_stride, head_stride};
  }
};

// A tensor [rows, heads, dim]; fp8 is that of the context's architecture.
struct Operand {
  const std::byte* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t heads = 0;
  std::int64_t dim = 0;
  Dtype dtype = Dtype::bf16;
};

struct KernelContext {
  Arch arch = Arch::gfx950;
  int threads = 1;
  std::uint64_t schedule_seed = 0;
  std::vector<Fault>& faults;
  Launches& launches;
  std::uint64_t timing_seed = 0;  // as in ExecutionOptions
  // Gets why a launch has no result, where a backend says so and the first time. Null: it is a
  // fault.
  MaybeError* no_result = nullptr;
};

using plan::WordSpan;

// The device memory that PlanFields name.
struct PlanSpans : plan::PlanLists<WordSpan> {
  WordSpan qo_indptr, kv_indptr, kv_indices;
};

// Where the fp8 kernel and the reduce write.
struct PsOutput {
  RowsView<std::uint16_t> out;  // final output, bf16
  RowsView<float> lse;          // final LSE
  std::int64_t rows = 0;
  std::int64_t heads = 0;
  float* partial_out = nullptr;  // [partial_rows, heads, kVDim]
  float* partial_lse = nullptr;  // [partial_rows, heads]
  std::int64_t partial_rows = 0;
  // Of each row: a work that wrote the final output, or -1. The reduce must not write it again.
  std::vector<std::int64_t> owner;
};

struct PsLaunch {
  PlanSpans plan;
  Operand q, k, v;
  bool causal = true;
  float score_scale = 0;
};

// Varlen flash attention; a request without keys gets output 0 and LSE -inf.
struct FlashLaunch {
  Operand q, k, v;
  WordSpan cu_seqlens_q, cu_seqlens_k;  // [requests + 1]
  bool causal = false;                  // right-aligned: row i of q sees n - q + i + 1 keys
  float score_scale = 0;
  RowsView<std::uint16_t> out;
  RowsView<float> lse;
};

// Copies the keys and values of a chunk from their blocks to the workspace, request by request.
struct GatherLaunch {
  const ContextCache& cache;
  const ContextChunk& chunk;
  BlockTableView table;
  std::int64_t block_size = 1;
  std::int64_t heads = 0;
  std::int64_t capacity = 0;        // tokens of the workspace
  std::uint16_t* keys = nullptr;    // [tokens, heads, kQkDim]
  std::uint16_t* values = nullptr;  // [tokens, heads, kVDim]
};

// Attention over a set of keys, to be merged with that over another set.
struct State {
  RowsView<const std::uint16_t> out;
  RowsView<const float> lse;
};
// merge_attn_states: weights by LSE; -inf on both sides gives output 0 and LSE -inf.
struct MergeLaunch {
  State prefix, suffix;  // strides of their own (BUG-102)
  RowsView<std::uint16_t> out;
  RowsView<float> lse;
  std::int64_t rows = 0;
  std::int64_t heads = 0;
};

// What became of the partial results of a persistent kernel.
enum class Partials : std::uint8_t { left, merged };

struct Kernels {
  // mla_prefill_ps_asm_fwd: the works of a plan, one head each. A work that is not split writes the
  // final output and its LSE (the LSE since aiter#3606, BUG-072), a split one its partial rows.
  // A kernel that merges these as well says so, and no reduce follows.
  std::function<Partials(const KernelContext&, const PsLaunch&, PsOutput&)> prefill_ps;
  // mla_reduce_v1 with tiles of kTileRows rows.
  std::function<void(const KernelContext&, const PlanSpans&, PsOutput&)> reduce;
  // Null: there is none, and steps on path flash are refused.
  std::function<void(const KernelContext&, const FlashLaunch&)> flash;
  std::function<void(const KernelContext&, const GatherLaunch&)> gather;
  std::function<void(const KernelContext&, const MergeLaunch&)> merge;
  std::optional<Arch> arch = {};  // the only one that they run; none: every one
};

}  // namespace mla::prefill

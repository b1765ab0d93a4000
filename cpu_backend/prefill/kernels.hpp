// The kernels that a prefill forward pass launches, one function each.
//
// A forward pass is given a table of them: engines take them from different libraries, and a
// defect can be put in the place of one. Each runs on the device when the stream comes to it and
// reads device memory through spans. Contracts: aiter.md 5 (fp8 kernel), 7 (reduce),
// vllm_metadata.md 2.4 (gather, merge). Units: rows, tokens, heads of the buffers they are given.
// Fails: indices that leave a buffer become faults, never accesses.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/backend.hpp"
#include "core/builder/prefill/prefill_launch.hpp"
#include "cpu_backend/data_path/data_path.hpp"

namespace mla::cpu {

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

// A tensor [rows, heads, dim] in one format.
struct Operand {
  const std::byte* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t heads = 0;
  std::int64_t dim = 0;
  ElementKind kind = ElementKind::bf16;
};

struct KernelContext {
  const DataPath& path;
  Arch arch = Arch::gfx950;
  int threads = 1;
  std::uint64_t schedule_seed = 0;
  std::vector<Fault>& faults;
};

using WordSpan = std::span<const std::int32_t>;

// The device memory behind prefill::PlanFields.
struct PlanSpans {
  WordSpan qo_indptr, kv_indptr, kv_indices, work_indptr, work_info, reduce_indptr,
      reduce_final_map, reduce_partial_map;
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

// mla_prefill_ps_asm_fwd: the works of a plan, one head each. A work that is not split writes the
// final output and its LSE (the LSE since aiter#3606, BUG-072), a split one its partial rows.
void run_prefill_ps(const KernelContext& context, const PsLaunch& launch, PsOutput& output);

// mla_reduce_v1 with tiles of kTileRows rows.
void run_prefill_reduce(const KernelContext& context, const PlanSpans& plan, PsOutput& output);

// Varlen flash attention; a request without keys gets output 0 and LSE -inf.
struct FlashLaunch {
  Operand q, k, v;
  WordSpan cu_seqlens_q, cu_seqlens_k;  // [requests + 1]
  bool causal = false;                  // right-aligned: row i of q sees n - q + i + 1 keys
  float score_scale = 0;
  RowsView<std::uint16_t> out;
  RowsView<float> lse;
};
void run_flash(const KernelContext& context, const FlashLaunch& launch);
// What a request's rows or keys leave, if they leave a tensor.
std::optional<Fault> flash_fault(const FlashLaunch& launch, std::size_t request);

// Copies the keys and values of a chunk from their blocks to the workspace, request by request.
struct GatherLaunch {
  const prefill::ContextCache& cache;
  const prefill::ContextChunk& chunk;
  BlockTableView table;
  std::int64_t block_size = 1;
  std::int64_t heads = 0;
  std::int64_t capacity = 0;        // tokens of the workspace
  std::uint16_t* keys = nullptr;    // [tokens, heads, kQkDim]
  std::uint16_t* values = nullptr;  // [tokens, heads, kVDim]
};
void run_gather(const KernelContext& context, const GatherLaunch& launch);

// Attention over a set of keys, to be merged with that over another set.
struct State {
  RowsView<const std::uint16_t> out;
  RowsView<const float> lse;
};
struct MergeLaunch {
  State prefix, suffix;  // strides of their own (BUG-102)
  RowsView<std::uint16_t> out;
  RowsView<float> lse;
  std::int64_t rows = 0;
  std::int64_t heads = 0;
};
// merge_attn_states: weights by LSE; -inf on both sides gives output 0 and LSE -inf.
void run_merge_states(const KernelContext& context, const MergeLaunch& launch);

struct PrefillKernels {
  std::function<void(const KernelContext&, const PsLaunch&, PsOutput&)> prefill_ps =
      &run_prefill_ps;
  std::function<void(const KernelContext&, const PlanSpans&, PsOutput&)> reduce =
      &run_prefill_reduce;
  std::function<void(const KernelContext&, const FlashLaunch&)> flash = &run_flash;
  std::function<void(const KernelContext&, const GatherLaunch&)> gather = &run_gather;
  std::function<void(const KernelContext&, const MergeLaunch&)> merge = &run_merge_states;
  std::optional<Arch> arch = {};  // the only one that they run; none: every one
};

}  // namespace mla::cpu

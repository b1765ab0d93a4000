// AITER's own planner, compiled from an AITER checkout: its host code, its dispatch and its
// kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace aiter_source {

// A call of get_mla_metadata_v1, with the buffers that it writes.
struct PlannerCall {
  std::vector<std::int32_t> qo_indptr, kv_indptr, last_page_len;
  std::vector<std::uint64_t> metadata_ptrs;
  std::vector<std::int32_t> work_info, work_indptr, reduce_indptr, final_map, partial_map;
  int heads_per_kv_head = 16, kv_heads = 1;
  bool causal = true;
  int page_size = 1, kv_granularity = 16, max_qo_len = 1, uniform_qo_len = 1;
  bool fast = true;
  int topk = -1, max_split_per_batch = -1;
  bool intra_batch = false, cp_round_robin = false;
  bool q_fp8 = false, kv_fp8 = false;
};

// A call of get_ps_metadata_v1, likewise.
struct PrefillCall {
  std::vector<std::int32_t> qo_indptr, kv_indptr, context_lens;
  std::vector<std::uint64_t> metadata_ptrs;
  std::vector<std::int32_t> work_info, work_indptr, reduce_indptr, final_map, partial_map;
  int gqa_ratio = 1, kv_heads = 1;
  int qhead_granularity = 1, qlen_granularity = 256, kvlen_granularity = 16, block_size = 1;
  bool causal = true;
};

// Empty, or what AITER said when it refused the call.
[[nodiscard]] std::string plan(PlannerCall& call);
[[nodiscard]] std::string plan(PrefillCall& call);

}  // namespace aiter_source

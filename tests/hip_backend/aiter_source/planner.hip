// AITER's planner as one translation unit, from the folder that -I names, and a way to call it.
#include "kernels/mla/metadata.cu"

#include "planner.hpp"

namespace aiter_source {
namespace {

template <class T>
aiter_tensor_t tensor(std::vector<T>& words, AiterDtype dtype, std::int64_t columns = 0) {
  aiter_tensor_t out{};
  out.ptr = words.data();
  out.numel_ = words.size();
  out.dtype_ = dtype;
  out.device_id = 0;
  const auto size = static_cast<std::int64_t>(words.size());
  out.ndim = columns == 0 ? 1 : 2;
  out.shape[0] = columns == 0 ? size : size / columns;
  out.shape[1] = columns;
  out.strides[0] = columns == 0 ? 1 : columns;
  out.strides[1] = 1;
  return out;
}

}  // namespace

std::string plan(PlannerCall& c) {
  // Otherwise a refusal ends the process.
  aiter_detail::g_aiter_can_throw = true;
  const auto i32 = AITER_DTYPE_i32;
  auto qo = tensor(c.qo_indptr, i32), kv = tensor(c.kv_indptr, i32);
  auto pages = tensor(c.last_page_len, i32), ptrs = tensor(c.metadata_ptrs, AITER_DTYPE_u64);
  auto info = tensor(c.work_info, i32, 8), works = tensor(c.work_indptr, i32);
  auto reduce = tensor(c.reduce_indptr, i32), final_map = tensor(c.final_map, i32, 2);
  auto partial = tensor(c.partial_map, i32);
  const auto dtype = [](bool fp8) { return fp8 ? AITER_DTYPE_fp8 : AITER_DTYPE_bf16; };
  try {
    get_mla_metadata_v1(qo, kv, pages, c.heads_per_kv_head, c.kv_heads, c.causal, ptrs, info, works,
                        reduce, final_map, partial, c.page_size, c.kv_granularity, c.max_qo_len,
                        c.uniform_qo_len, c.fast, c.topk, c.max_split_per_batch, c.intra_batch,
                        c.cp_round_robin, 0, dtype(c.q_fp8), std::nullopt, dtype(c.kv_fp8),
                        std::nullopt);
  } catch (const std::exception& refusal) {
    return refusal.what();
  }
  return "";
}

std::string plan(PrefillCall& c) {
  aiter_detail::g_aiter_can_throw = true;
  const auto i32 = AITER_DTYPE_i32;
  auto qo = tensor(c.qo_indptr, i32), kv = tensor(c.kv_indptr, i32);
  auto contexts = tensor(c.context_lens, i32), ptrs = tensor(c.metadata_ptrs, AITER_DTYPE_u64);
  auto info = tensor(c.work_info, i32, 8), works = tensor(c.work_indptr, i32);
  auto reduce = tensor(c.reduce_indptr, i32), final_map = tensor(c.final_map, i32, 2);
  auto partial = tensor(c.partial_map, i32);
  try {
    get_ps_metadata_v1(qo, kv, contexts, c.gqa_ratio, c.kv_heads, ptrs, works, info, reduce,
                       final_map, partial, c.qhead_granularity, c.qlen_granularity,
                       c.kvlen_granularity, c.block_size, c.causal);
  } catch (const std::exception& refusal) {
    return refusal.what();
  }
  return "";
}

}  // namespace aiter_source

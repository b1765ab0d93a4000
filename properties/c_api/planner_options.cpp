#include "properties/c_api/planner_options.hpp"

#include "properties/c_api/options.hpp"
#include "properties/c_api/tensors.hpp"

namespace mla::c_api {
namespace {

std::optional<Failure> check_options(const mla_decode_plan_options& o) {
  if (auto bad = check_fields({{"compute_units", o.compute_units, 1, kMaxComputeUnits},
                               {"num_heads_per_head_k", o.num_heads_per_head_k, 1, kMaxAnyHeads},
                               {"num_heads_k", o.num_heads_k, 1, kMaxAnyHeads},
                               {"page_size", o.page_size, 1, kMaxGranularity},
                               {"kv_granularity", o.kv_granularity, 1, kMaxGranularity},
                               {"max_seqlen_qo", o.max_seqlen_qo, -1, kMaxRows},
                               {"uni_seqlen_qo", o.uni_seqlen_qo, -1, kMaxRows},
                               {"topk", o.topk, -1, kMaxGranularity},
                               {"max_split_per_batch", o.max_split_per_batch, -1, kMaxSplits},
                               {"v12_kernel", o.v12_kernel, 0, 2}}))
    return bad;
  return check_flags({{"is_causal", o.is_causal},
                      {"fast_mode", o.fast_mode},
                      {"intra_batch_mode", o.intra_batch_mode},
                      {"is_cp_round_robin", o.is_cp_round_robin},
                      {"experimental", o.experimental},
                      {"as_aiter", o.as_aiter}});
}

plan::PlannerVersion version_of(const mla_decode_plan_options& o) {
  if (o.fast_mode != 0) return plan::PlannerVersion::v1_2;
  return o.intra_batch_mode != 0 ? plan::PlannerVersion::v1_0 : plan::PlannerVersion::v1_1;
}

}  // namespace

std::optional<Failure> check_lists(const DecodeLists& lists) {
  if (auto bad =
          check_tensor(lists.kv_indptr,
                       {.name = "seqlens_kv_indptr", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny}}))
    return bad;
  const std::int64_t entries = lists.kv_indptr->shape[0];
  if (entries < 1 || entries > kMaxBatch + 1)
    return bad_tensor("seqlens_kv_indptr", "1 to 2^20 + 1 entries", std::to_string(entries));
  if (auto bad =
          check_tensor(lists.qo_indptr,
                       {.name = "seqlens_qo_indptr", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny}}))
    return bad;
  return check_tensor(lists.last_page_len,
                      {.name = "kv_last_page_lens", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny}});
}

Result<plan::PlanInput> planner_input(const mla_decode_plan_options& o) {
  if (auto bad = check_options(o)) return Error{ErrorCode::usage, bad->message};
  const auto arch = arch_of(o.arch);
  if (!arch) return arch.error();
  const auto q = dtype_of("dtype_q", o.dtype_q);
  if (!q) return q.error();
  const auto kv = dtype_of("dtype_kv", o.dtype_kv);
  if (!kv) return kv.error();
  plan::PlanInput in;
  in.key = {.arch = *arch,
            .compute_units = ComputeUnits(o.compute_units),
            .heads_per_kv_head = Heads(o.num_heads_per_head_k),
            .kv_heads = Heads(o.num_heads_k),
            .dtype = {*q, *kv},
            .max_qo_len = o.max_seqlen_qo,
            .experimental = o.experimental != 0};
  in.causal = o.is_causal != 0;
  in.page_size = o.page_size;
  in.kv_granularity = o.kv_granularity;
  in.uniform_qo_len = o.uni_seqlen_qo;
  in.topk = o.topk;
  in.max_split_per_batch = o.max_split_per_batch;
  in.cp_round_robin = o.is_cp_round_robin != 0;
  in.version = version_of(o);
  in.kernel = static_cast<plan::V12Kernel>(o.v12_kernel);
  in.fidelity = o.as_aiter != 0 ? plan::Fidelity::as_aiter : plan::Fidelity::safe;
  return in;
}

void set_lists(plan::PlanInput& input, const DecodeLists& lists) {
  input.qo_indptr = elements<const std::int32_t>(*lists.qo_indptr);
  input.kv_indptr = elements<const std::int32_t>(*lists.kv_indptr);
  input.last_page_len = elements<const std::int32_t>(*lists.last_page_len);
}

}  // namespace mla::c_api

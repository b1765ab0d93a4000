// The planners of the C interface.
#include "core/plan/planner.hpp"
#include "core/say.hpp"

#include "core/plan/ps_prefill.hpp"
#include "properties/c_api/execution.hpp"
#include "properties/c_api/options.hpp"
#include "properties/c_api/plan_buffers.hpp"
#include "properties/c_api/planner_options.hpp"
#include "properties/c_api/tensors.hpp"

namespace mla::c_api {
namespace {

using MaybeFailure = std::optional<Failure>;

MaybeFailure plan_decode(const mla_decode_plan_options* options, const DecodeLists& lists,
                         const mla_plan_buffers* buffers) {
  if (options == nullptr) return usage("options is NULL");
  auto input = planner_input(*options);
  if (!input) return failure_of(input.error());
  if (auto bad = check_lists(lists)) return bad;
  if (auto bad = check_buffers(buffers, MetaData::written)) return bad;
  set_lists(*input, lists);
  const auto plan = plan::make_plan(*input, sizes_of(*buffers));
  if (!plan) return failure_of(plan.error());
  return write_buffers(*plan, *buffers, MetaData::written);
}

MaybeFailure check_options(const mla_prefill_plan_options& o) {
  if (auto bad = check_fields({{"compute_units", o.compute_units, 1, kMaxComputeUnits},
                               {"gqa_ratio", o.gqa_ratio, 1, kMaxAnyHeads},
                               {"num_heads_k", o.num_heads_k, 1, kMaxAnyHeads},
                               {"qhead_granularity", o.qhead_granularity, 1, kMaxAnyHeads},
                               {"qlen_granularity", o.qlen_granularity, 1, kMaxGranularity},
                               {"kvlen_granularity", o.kvlen_granularity, 1, kMaxGranularity},
                               {"block_size", o.block_size, 1, kMaxGranularity}}))
    return bad;
  return check_flags({{"is_causal", o.is_causal}, {"as_aiter", o.as_aiter}});
}

// The planner makes a tile for every few rows: nonsense here would take minutes and gigabytes.
MaybeFailure check_rows(std::span<const std::int32_t> qo_indptr) {
  for (std::size_t r = 0; r + 1 < qo_indptr.size(); ++r)
    if (const std::int64_t rows = std::int64_t{qo_indptr[r + 1]} - qo_indptr[r]; rows > kMaxRows)
      return usage(
          say("request ", r, " has ", rows, " rows in seqlens_qo_indptr; expected at most 2^20"));
  return std::nullopt;
}

// The three lists of a prefill step, in host memory.
MaybeFailure check_prefill_lists(const aiter_tensor_t* qo_indptr, const aiter_tensor_t* kv_indptr,
                                 const aiter_tensor_t* context_lens) {
  if (auto bad = check_tensor(qo_indptr, {.name = "seqlens_qo_indptr",
                                          .place = Place::host,
                                          .dtypes = {MLA_DTYPE_I32},
                                          .shape = {kAny}}))
    return bad;
  const std::int64_t entries = qo_indptr->shape[0];
  if (entries < 1 || entries > kMaxBatch + 1)
    return bad_tensor("seqlens_qo_indptr", "1 to 2^20 + 1 entries", std::to_string(entries));
  if (auto bad = check_running_sum("seqlens_qo_indptr", *qo_indptr)) return bad;
  if (auto bad = check_rows(elements<const std::int32_t>(*qo_indptr))) return bad;
  if (auto bad = check_tensor(kv_indptr, {.name = "pages_kv_indptr",
                                          .place = Place::host,
                                          .dtypes = {MLA_DTYPE_I32},
                                          .shape = {entries}}))
    return bad;
  return check_tensor(context_lens, {.name = "context_lens",
                                     .place = Place::host,
                                     .dtypes = {MLA_DTYPE_I32},
                                     .shape = {entries - 1}});
}

MaybeFailure plan_prefill(const mla_prefill_plan_options* options, const aiter_tensor_t* qo_indptr,
                          const aiter_tensor_t* kv_indptr, const aiter_tensor_t* context_lens,
                          const mla_plan_buffers* buffers) {
  if (options == nullptr) return usage("options is NULL");
  if (auto bad = check_options(*options)) return bad;
  if (auto bad = check_prefill_lists(qo_indptr, kv_indptr, context_lens)) return bad;
  if (auto bad = check_buffers(buffers, MetaData::left_alone)) return bad;
  const auto plan = plan::plan_ps_prefill(
      {.compute_units = ComputeUnits(options->compute_units),
       .kv_heads = Heads(options->num_heads_k),
       .qo_indptr = elements<const std::int32_t>(*qo_indptr),
       .kv_indptr = elements<const std::int32_t>(*kv_indptr),
       .context_lens = elements<const std::int32_t>(*context_lens),
       .qhead_granularity = options->qhead_granularity,
       .qlen_granularity = options->qlen_granularity,
       .kvlen_granularity = options->kvlen_granularity,
       .block_size = options->block_size,
       .causal = options->is_causal != 0,
       .fidelity = options->as_aiter != 0 ? plan::Fidelity::as_aiter : plan::Fidelity::safe},
      sizes_of(*buffers));
  if (!plan) return failure_of(plan.error());
  return write_buffers(*plan, *buffers, MetaData::left_alone);
}

}  // namespace
}  // namespace mla::c_api

extern "C" {

void mla_decode_plan_defaults(mla_decode_plan_options* options) {
  if (options != nullptr)
    *options = {.arch = MLA_GFX942,
                .compute_units = 304,
                .num_heads_per_head_k = 16,
                .num_heads_k = 1,
                .is_causal = 1,
                .page_size = 1,
                .kv_granularity = 16,
                .max_seqlen_qo = -1,
                .uni_seqlen_qo = -1,
                .fast_mode = 1,
                .topk = -1,
                .max_split_per_batch = -1,
                .intra_batch_mode = 0,
                .is_cp_round_robin = 0,
                .dtype_q = MLA_DTYPE_BF16,
                .dtype_kv = MLA_DTYPE_BF16,
                .experimental = 0,
                .v12_kernel = 0,
                .as_aiter = 0};
}

int mla_plan_decode(const mla_decode_plan_options* options, const aiter_tensor_t* seqlens_qo_indptr,
                    const aiter_tensor_t* seqlens_kv_indptr,
                    const aiter_tensor_t* kv_last_page_lens, const mla_plan_buffers* buffers) {
  return mla::c_api::at_border([&] {
    return mla::c_api::plan_decode(
        options, {seqlens_qo_indptr, seqlens_kv_indptr, kv_last_page_lens}, buffers);
  });
}

void mla_prefill_plan_defaults(mla_prefill_plan_options* options) {
  if (options != nullptr)
    *options = {.compute_units = 304,
                .gqa_ratio = 1,
                .num_heads_k = 1,
                .qhead_granularity = 1,
                .qlen_granularity = 256,
                .kvlen_granularity = 16,
                .block_size = 16,
                .is_causal = 1,
                .as_aiter = 0};
}

int mla_plan_prefill(const mla_prefill_plan_options* options,
                     const aiter_tensor_t* seqlens_qo_indptr, const aiter_tensor_t* pages_kv_indptr,
                     const aiter_tensor_t* context_lens, const mla_plan_buffers* buffers) {
  return mla::c_api::at_border([&] {
    return mla::c_api::plan_prefill(options, seqlens_qo_indptr, pages_kv_indptr, context_lens,
                                    buffers);
  });
}
}

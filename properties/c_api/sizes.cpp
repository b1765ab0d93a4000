// The size queries of the C interface.
#include "core/plan/sizes.hpp"

#include "core/plan/ps_prefill.hpp"
#include "properties/c_api/options.hpp"

namespace mla::c_api {
namespace {

using MaybeFailure = std::optional<Failure>;

mla_buffer_sizes exported(const plan::BufferSizes& sizes) {
  return {.work_meta_data = sizes.work_meta_data,
          .work_indptr = sizes.work_indptr,
          .work_items = sizes.work_items,
          .reduce_indptr = sizes.reduce_indptr,
          .reduce_final_rows = sizes.reduce_final_rows,
          .reduce_partial_map = sizes.reduce_partial_map};
}

MaybeFailure answer(const Result<plan::BufferSizes>& sizes, mla_buffer_sizes* out) {
  if (!sizes) return failure_of(sizes.error());
  *out = exported(*sizes);
  return std::nullopt;
}

MaybeFailure decode_sizes(const mla_decode_size_query* q, mla_buffer_sizes* out) {
  if (q == nullptr || out == nullptr) return usage("mla_decode_sizes: query or sizes is NULL");
  const auto arch = arch_of(q->arch);
  if (!arch) return failure_of(arch.error());
  const auto q_dtype = dtype_of("q_dtype", q->q_dtype);
  if (!q_dtype) return failure_of(q_dtype.error());
  const auto kv_dtype = dtype_of("kv_dtype", q->kv_dtype);
  if (!kv_dtype) return failure_of(kv_dtype.error());
  if (auto bad = check_fields({{"compute_units", q->compute_units, 1, kMaxComputeUnits},
                               {"batch_size", q->batch_size, 0, kMaxBatch},
                               {"max_seqlen_qo", q->max_seqlen_qo, 0, kMaxRows},
                               {"num_head_qo", q->num_head_qo, 1, kMaxAnyHeads},
                               {"num_kv_splits", q->num_kv_splits, 0, kMaxSplits},
                               {"max_split_per_batch", q->max_split_per_batch, -1, kMaxSplits}}))
    return bad;
  if (auto bad = check_flags({{"is_sparse", q->is_sparse},
                              {"fast_mode", q->fast_mode},
                              {"intra_batch_mode", q->intra_batch_mode},
                              {"experimental", q->experimental}}))
    return bad;
  return answer(plan::query_sizes({.arch = *arch,
                                   .compute_units = ComputeUnits(q->compute_units),
                                   .batch = Requests(q->batch_size),
                                   .max_qo_len = q->max_seqlen_qo,
                                   .heads = Heads(q->num_head_qo),
                                   .dtype = {*q_dtype, *kv_dtype},
                                   .sparse = q->is_sparse != 0,
                                   .fast_mode = q->fast_mode != 0,
                                   .num_kv_splits = q->num_kv_splits,
                                   .intra_batch_mode = q->intra_batch_mode != 0,
                                   .max_split_per_batch = q->max_split_per_batch,
                                   .experimental = q->experimental != 0}),
                out);
}

MaybeFailure prefill_sizes(const mla_prefill_size_query* q, mla_buffer_sizes* out) {
  if (q == nullptr || out == nullptr) return usage("mla_prefill_sizes: query or sizes is NULL");
  if (auto bad = check_fields({{"compute_units", q->compute_units, 1, kMaxComputeUnits},
                               {"batch_size", q->batch_size, 0, kMaxBatch},
                               {"num_head_k", q->num_head_k, 1, kMaxAnyHeads},
                               {"max_qlen", q->max_qlen, 0, kMaxRows},
                               {"qlen_granularity", q->qlen_granularity, 1, kMaxGranularity}}))
    return bad;
  return answer(plan::query_ps_sizes({.compute_units = ComputeUnits(q->compute_units),
                                      .batch = Requests(q->batch_size),
                                      .kv_heads = Heads(q->num_head_k),
                                      .max_qo_len = q->max_qlen,
                                      .qlen_granularity = q->qlen_granularity}),
                out);
}

}  // namespace
}  // namespace mla::c_api

extern "C" {

void mla_decode_size_query_defaults(mla_decode_size_query* query) {
  if (query != nullptr)
    *query = {.arch = MLA_GFX942,
              .compute_units = 304,
              .batch_size = 1,
              .max_seqlen_qo = 1,
              .num_head_qo = 16,
              .q_dtype = MLA_DTYPE_BF16,
              .kv_dtype = MLA_DTYPE_BF16,
              .is_sparse = 0,
              .fast_mode = 1,
              .num_kv_splits = 32,
              .intra_batch_mode = 0,
              .max_split_per_batch = -1,
              .experimental = 0};
}

int mla_decode_sizes(const mla_decode_size_query* query, mla_buffer_sizes* sizes) {
  return mla::c_api::at_border([&] { return mla::c_api::decode_sizes(query, sizes); });
}

void mla_prefill_size_query_defaults(mla_prefill_size_query* query) {
  if (query != nullptr)
    *query = {.compute_units = 304,
              .batch_size = 1,
              .num_head_k = 1,
              .max_qlen = 1,
              .qlen_granularity = 256};
}

int mla_prefill_sizes(const mla_prefill_size_query* query, mla_buffer_sizes* sizes) {
  return mla::c_api::at_border([&] { return mla::c_api::prefill_sizes(query, sizes); });
}
}

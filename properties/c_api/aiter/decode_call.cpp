#include "properties/c_api/aiter/decode_call.hpp"

namespace mla::c_api::aiter {
namespace {

void set_outputs(const DecodeStep& step, cpu::Stage1Call& call) {
  call.partial_rows = step.partial_rows;
  call.partial_lse = step.split_lse;
  if (step.bf16_partials) {
    call.out = reinterpret_cast<std::uint16_t*>(step.split_data);
    call.lse = step.split_lse;
    return;
  }
  call.partial_out = reinterpret_cast<float*>(step.split_data);
  if (!step.persistent) return;
  call.out = step.output;
  call.lse = step.lse;
}

}  // namespace

cpu::Stage1Call call_of(const DecodeStep& step) {
  const std::int64_t row_bytes = kBuiltIn.key_bytes(step.kv_dtype);
  cpu::Stage1Call call{.arch = step.machine.arch,
                       .dtype = {step.q_dtype, step.kv_dtype},
                       .widths = kBuiltIn,
                       .q = step.q,
                       .q_rows = step.q_rows,
                       .heads = step.heads,
                       .cache = {.bytes = step.kv,
                                 .slots = step.pages * step.page_size,
                                 .row_bytes = row_bytes,
                                 .gap_slots = step.page_size,
                                 .gap_bytes = step.page_bytes - step.page_size * row_bytes},
                       .page_size = step.page_size,
                       .qo_indptr = step.qo_indptr,
                       .kv_indptr = step.kv_indptr,
                       .kv_indices = step.kv_indices,
                       .last_page_len = step.last_page_len,
                       .max_qo_len = step.max_qo_len,
                       .causal = step.causal,
                       .softmax_scale = step.softmax_scale,
                       .q_scale = step.q_scale,
                       .kv_scale = step.kv_scale};
  call.share = {.global_kv_indptr = step.global_kv_indptr, .ranks = step.ranks, .rank = step.rank};
  set_outputs(step, call);
  if (step.persistent) {
    call.plan.emplace(plan::PlanView{
        step.work_meta_data, {.work_indptr = step.work_indptr, .work_info = step.work_info}});
    call.fold = cpu::fold_of(call);
  } else {
    call.splits = step.splits;
    call.splits_indptr = step.splits_indptr;
  }
  return call;
}

}  // namespace mla::c_api::aiter

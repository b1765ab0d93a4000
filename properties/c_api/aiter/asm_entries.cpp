// AITER's entry points, as its Python calls them with ctypes.
#include <string>

#include "properties/c_api/aiter/decode_call.hpp"
#include "properties/c_api/aiter/decode_device.hpp"
#include "properties/c_api/aiter/decode_step.hpp"
#include "properties/c_api/aiter/latent_prefill.hpp"
#include "properties/c_api/aiter/mla_testbed_aiter.h"
#include "properties/c_api/backend.hpp"
#include "properties/c_api/execution.hpp"
#include "properties/c_api/stage1_run.hpp"

namespace mla::c_api::aiter {
namespace {

std::optional<Failure> decode(const DecodeCall& call) {
  auto machine = this_machine();
  if (!machine) return c_api::failure_of(machine.error());
  DecodeStep step;
  if (auto bad = check_step(call, std::move(*machine), step)) return bad;
  const auto selection = select_kernel(step);
  if (!selection) return c_api::failure_of(selection.error());
  const cpu::Stage1Call on_cpu = call_of(step);
  const auto list = cpu::stage1_tasks(on_cpu);
  if (!list) return c_api::failure_of(list.error());
  if (!list->faults.empty()) return failure_of_faults("stage 1", list->faults);
  return answer_for_outputs(on_cpu, *list, [&]() -> std::optional<Failure> {
    if (step.machine.execution == Execution::code_objects) return run_on_device(step, *selection);
    cpu::run_stage1_tasks(on_cpu, *list, threads());
    return std::nullopt;
  });
}

// AITER's caller asks for an error after every call, and raises if there is a text.
thread_local bool failed = false;

int noted(int status) {
  failed = status != MLA_OK;
  return status;
}

}  // namespace
}  // namespace mla::c_api::aiter

extern "C" {

int aiter_ctypes_abi_version(void) {
  return 2;
}
const char* aiter_get_last_error(void) {
  return mla::c_api::aiter::failed ? mla_last_error() : nullptr;
}
void aiter_clear_last_error(void) {
  mla::c_api::aiter::failed = false;
}

int mla_decode_stage1_asm_fwd(
    const aiter_tensor_t* q, const aiter_tensor_t* kv, const aiter_tensor_t* qo_indptr,
    const aiter_tensor_t* kv_indptr, const aiter_tensor_t* kv_page_indices,
    const aiter_tensor_t* kv_last_page_lens, const aiter_tensor_t* num_kv_splits_indptr,
    const aiter_tensor_t* work_meta_data, const aiter_tensor_t* work_indptr,
    const aiter_tensor_t* work_info_set, int64_t max_seqlen_q, int64_t page_size, int64_t nhead_kv,
    float softmax_scale, const aiter_tensor_t* split_data, const aiter_tensor_t* split_lse,
    const aiter_tensor_t* output, const aiter_tensor_t* lse, const aiter_tensor_t* q_scale,
    const aiter_tensor_t* kv_scale, const aiter_tensor_t* g_kv_indptr, int64_t cp_world_size,
    int64_t cp_rank, const aiter_tensor_t* /*valid_split_count*/,
    int64_t /*use_valid_split_count_reduce*/, int causal, void* /*stream*/) {
  return mla::c_api::aiter::noted(mla::c_api::at_border([&] {
    return mla::c_api::aiter::decode({.q = q,
                                      .kv = kv,
                                      .qo_indptr = qo_indptr,
                                      .kv_indptr = kv_indptr,
                                      .kv_indices = kv_page_indices,
                                      .last_page_len = kv_last_page_lens,
                                      .splits_indptr = num_kv_splits_indptr,
                                      .work_meta_data = work_meta_data,
                                      .work_indptr = work_indptr,
                                      .work_info = work_info_set,
                                      .max_seqlen_q = max_seqlen_q,
                                      .page_size = page_size,
                                      .kv_heads = nhead_kv,
                                      .softmax_scale = softmax_scale,
                                      .split_data = split_data,
                                      .split_lse = split_lse,
                                      .output = output,
                                      .lse = lse,
                                      .q_scale = q_scale,
                                      .kv_scale = kv_scale,
                                      .global_kv_indptr = g_kv_indptr,
                                      .ranks = cp_world_size,
                                      .rank = cp_rank,
                                      .causal = causal != 0});
  }));
}

int mla_prefill_ps_asm_fwd(const aiter_tensor_t* q, const aiter_tensor_t* k,
                           const aiter_tensor_t* v, const aiter_tensor_t* qo_indptr,
                           const aiter_tensor_t* kv_indptr, const aiter_tensor_t* kv_page_indices,
                           const aiter_tensor_t* work_indptr, const aiter_tensor_t* work_info_set,
                           int64_t /*max_seqlen_q*/, float softmax_scale, int is_causal,
                           const aiter_tensor_t* split_data, const aiter_tensor_t* split_lse,
                           const aiter_tensor_t* output, const aiter_tensor_t* q_scale,
                           const aiter_tensor_t* k_scale, const aiter_tensor_t* v_scale,
                           void* /*stream*/) {
  const auto machine = mla::c_api::aiter::this_machine();
  if (!machine)
    return mla::c_api::aiter::noted(mla::c_api::keep(mla::c_api::failure_of(machine.error())));
  const mla_prefill_tensors tensors = {.q = q,
                                       .k = k,
                                       .v = v,
                                       .qo_indptr = qo_indptr,
                                       .kv_indptr = kv_indptr,
                                       .kv_page_indices = kv_page_indices,
                                       .work_indptr = work_indptr,
                                       .work_info_set = work_info_set,
                                       .split_data = split_data,
                                       .split_lse = split_lse,
                                       .output = output,
                                       .q_scale = q_scale,
                                       .k_scale = k_scale,
                                       .v_scale = v_scale};
  const mla_arch arch = machine->arch == mla::Arch::gfx942 ? MLA_GFX942 : MLA_GFX950;
  return mla::c_api::aiter::noted(
      mla_prefill(arch, is_causal != 0 ? 1 : 0, &tensors, softmax_scale));
}

int mla_prefill_asm_fwd(const aiter_tensor_t* q, const aiter_tensor_t* kv,
                        const aiter_tensor_t* qo_indptr, const aiter_tensor_t* kv_indptr,
                        const aiter_tensor_t* kv_page_indices,
                        const aiter_tensor_t* kv_last_page_lens, int64_t max_seqlen_q,
                        float softmax_scale, const aiter_tensor_t* split_data,
                        const aiter_tensor_t* split_lse, void* /*stream*/) {
  return mla::c_api::aiter::noted(mla::c_api::at_border([&] {
    return mla::c_api::aiter::latent_prefill({.q = q,
                                              .kv = kv,
                                              .qo_indptr = qo_indptr,
                                              .kv_indptr = kv_indptr,
                                              .kv_indices = kv_page_indices,
                                              .last_page_len = kv_last_page_lens,
                                              .splits_indptr = nullptr,
                                              .work_meta_data = nullptr,
                                              .work_indptr = nullptr,
                                              .work_info = nullptr,
                                              .max_seqlen_q = max_seqlen_q,
                                              .page_size = 1,
                                              .kv_heads = 1,
                                              .softmax_scale = softmax_scale,
                                              .split_data = split_data,
                                              .split_lse = split_lse,
                                              .output = nullptr,
                                              .lse = nullptr,
                                              .q_scale = nullptr,
                                              .kv_scale = nullptr,
                                              .global_kv_indptr = nullptr,
                                              .ranks = 1,
                                              .rank = 0,
                                              .causal = true});
  }));
}

}  // extern "C"

#include "properties/c_api/aiter/latent_prefill.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "core/say.hpp"
#include "core/units.hpp"
#include "hip_backend/aiter/prefill.hpp"
#include "properties/c_api/aiter/decode_call.hpp"
#include "properties/c_api/backend.hpp"
#include "properties/c_api/device.hpp"
#include "properties/c_api/execution.hpp"
#include "properties/c_api/stage1_run.hpp"
#include "properties/c_api/tensors.hpp"

namespace mla::c_api::aiter {
namespace {

using MaybeFailure = std::optional<Failure>;

aiter_tensor_t list_of(std::vector<std::int32_t>& values, int device) {
  return {.ptr = values.data(),
          .numel = values.size(),
          .ndim = 1,
          .shape = {static_cast<std::int64_t>(values.size())},
          .strides = {1},
          .dtype = MLA_DTYPE_I32,
          .device_id = device};
}

// splitData is the output: [rows, 1, heads, 512] as [rows, heads, 512].
aiter_tensor_t output_of(const aiter_tensor_t& split_data) {
  aiter_tensor_t out = split_data;
  out.ndim = 3;
  for (int d = 1; d < 3; ++d) {
    out.shape[d] = split_data.shape[d + 1];
    out.strides[d] = split_data.strides[d + 1];
  }
  return out;
}

MaybeFailure check_shape(const DecodeStep& step) {
  if (step.q_dtype != Dtype::bf16 || step.kv_dtype != Dtype::bf16)
    return unsupported("mla_prefill_asm_fwd takes bf16 queries and a bf16 cache only");
  if (step.heads != 16 && step.heads != 128)
    return unsupported(say("mla_prefill_asm_fwd takes 16 or 128 heads, not ", step.heads));
  if (step.splits != 1)
    return bad_tensor("splitData", "one split: it is the output", std::to_string(step.splits));
  if (step.machine.execution == Execution::code_objects && step.page_size != 1)
    return unsupported(say("AITER's prefill without a plan is run with pages of 1 token here, not ",
                           step.page_size));
  return std::nullopt;
}

MaybeFailure on_code_objects(const DecodeStep& step) {
  const std::int64_t row = kBuiltIn.key_bytes(Dtype::bf16);
  if (step.pages > 1 && step.page_bytes != row)
    return unsupported("AITER's prefill without a plan is run on a dense cache here");
  const auto pairs = static_cast<std::size_t>(step.q_rows * step.heads);
  const hip::aiter::LatentPrefillInput input = {
      .q = {step.q, pairs * static_cast<std::size_t>(row)},
      .cache = {step.kv, static_cast<std::size_t>(step.pages * row)},
      .arch = step.machine.arch,
      .heads = step.heads,
      .softmax_scale = step.softmax_scale,
      .qo_indptr = step.qo_indptr,
      .kv_indptr = step.kv_indptr,
      .kv_indices = step.kv_indices,
      .lse = {step.split_lse, pairs}};
  return on_emulated_device(step.machine.arch, [&](hip::Device& device) -> MaybeError {
    const auto out = hip::aiter::latent_prefill(device, *step.machine.installation, input);
    if (!out) return out.error();
    auto* const to = reinterpret_cast<std::uint16_t*>(step.split_data);
    for (std::size_t i = 0; i < std::min(out->size(), pairs * kBuiltIn.value().count()); ++i)
      if ((*out)[i] != kPoisonBf16) to[i] = (*out)[i];
    return std::nullopt;
  });
}

}  // namespace

MaybeFailure latent_prefill(DecodeCall call) {
  auto machine = this_machine();
  if (!machine) return c_api::failure_of(machine.error());
  if (auto bad = check_tensor(call.qo_indptr,
                              {.name = "qo_indptr", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny}}))
    return bad;
  if (auto bad =
          check_tensor(call.split_data, {.name = "splitData",
                                         .dtypes = {MLA_DTYPE_BF16},
                                         .shape = {kAny, kAny, kAny, kBuiltIn.value().count()}}))
    return bad;
  if (auto bad = check_tensor(call.kv, {.name = "KV",
                                        .dtypes = {MLA_DTYPE_BF16, MLA_DTYPE_FP8},
                                        .shape = {kAny, kAny, 1, kBuiltIn.key().count()},
                                        .contiguous = false}))
    return bad;
  std::vector<std::int32_t> splits(call.qo_indptr->numel);
  std::iota(splits.begin(), splits.end(), 0);
  const aiter_tensor_t indptr = list_of(splits, call.qo_indptr->device_id);
  const aiter_tensor_t output = output_of(*call.split_data);
  call.splits_indptr = &indptr;
  call.output = &output;
  call.page_size = call.kv->shape[1];
  // With one row a request, stage 1 of a decode would take its output in f32.
  call.max_seqlen_q = std::max<std::int64_t>(call.max_seqlen_q, 2);
  DecodeStep step;
  if (auto bad = check_step(call, std::move(*machine), step)) return bad;
  if (auto bad = check_shape(step)) return bad;
  const cpu::Stage1Call on_cpu = call_of(step);
  const auto list = cpu::stage1_tasks(on_cpu);
  if (!list) return c_api::failure_of(list.error());
  if (!list->faults.empty()) return failure_of_faults("prefill", list->faults);
  return answer_for_outputs(on_cpu, *list, [&]() -> MaybeFailure {
    if (step.machine.execution == Execution::code_objects) return on_code_objects(step);
    cpu::run_stage1_tasks(on_cpu, *list, threads());
    return std::nullopt;
  });
}

}  // namespace mla::c_api::aiter

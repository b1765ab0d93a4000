// Prefill with a plan through the C interface.
#include "core/say.hpp"
#include "properties/c_api/backend.hpp"
#include "properties/c_api/execution.hpp"
#include "properties/c_api/options.hpp"
#include "properties/c_api/prefill_run.hpp"
#include "properties/c_api/tensors.hpp"

namespace mla::c_api {
namespace {

using MaybeFailure = std::optional<Failure>;
using prefill::kQkDim;
using prefill::kVDim;

MaybeFailure check_operands(const mla_prefill_tensors& t) {
  if (auto bad = check_tensor(
          t.q, {.name = "q", .dtypes = {MLA_DTYPE_FP8}, .shape = {kAny, kAny, kQkDim}}))
    return bad;
  const std::int64_t heads = t.q->shape[1];
  if (heads < 1) return bad_tensor("q", "at least 1 head", "0");
  if (auto bad = check_tensor(
          t.k, {.name = "k", .dtypes = {MLA_DTYPE_FP8}, .shape = {kAny, kAny, kQkDim}}))
    return bad;
  if (t.k->shape[1] != heads)
    return Failure{MLA_UNSUPPORTED,
                   say("k has ", t.k->shape[1], " heads and q has ", heads,
                       "; every query head has keys of its own here"),
                   "", ""};
  return check_tensor(
      t.v, {.name = "v", .dtypes = {MLA_DTYPE_FP8}, .shape = {t.k->shape[0], heads, kVDim}});
}

MaybeFailure check_lists(const mla_prefill_tensors& t) {
  const std::pair<const aiter_tensor_t*, Wanted> lists[] = {
      {t.qo_indptr, {.name = "qo_indptr", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny}}},
      {t.kv_indptr, {.name = "kv_indptr", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny}}},
      {t.kv_page_indices, {.name = "kv_page_indices", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny}}},
      {t.work_indptr, {.name = "work_indptr", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny}}},
      {t.work_info_set,
       {.name = "work_info_set",
        .dtypes = {MLA_DTYPE_I32},
        .shape = {kAny, plan::kWorkItemWords}}}};
  for (const auto& [tensor, wanted] : lists)
    if (auto bad = check_tensor(tensor, wanted)) return bad;
  const std::int64_t entries = t.qo_indptr->shape[0];
  if (entries < 1 || t.kv_indptr->shape[0] != entries)
    return bad_tensor("kv_indptr", say(entries, " entries as qo_indptr"),
                      std::to_string(t.kv_indptr->shape[0]));
  if (t.work_indptr->shape[0] < 1) return bad_tensor("work_indptr", "at least 1 entry", "0");
  return std::nullopt;
}

MaybeFailure check_outputs(const mla_prefill_tensors& t) {
  const std::int64_t rows = t.q->shape[0];
  const std::int64_t heads = t.q->shape[1];
  if (auto bad = check_tensor(
          t.split_data,
          {.name = "split_data", .dtypes = {MLA_DTYPE_FP32}, .shape = {kAny, heads, kVDim}}))
    return bad;
  if (auto bad = check_tensor(t.split_lse, {.name = "split_lse",
                                            .dtypes = {MLA_DTYPE_FP32},
                                            .shape = {t.split_data->shape[0], heads}}))
    return bad;
  return check_tensor(
      t.output, {.name = "output", .dtypes = {MLA_DTYPE_BF16}, .shape = {rows, heads, kVDim}});
}

// What a device allocates and walks by.
MaybeFailure check_lengths(const mla_prefill_tensors& t) {
  if (auto bad = check_running_sum("qo_indptr", *t.qo_indptr)) return bad;
  if (auto bad = check_running_sum("kv_indptr", *t.kv_indptr)) return bad;
  const std::int64_t rows = elements<const std::int32_t>(*t.qo_indptr).back();
  if (rows > t.q->shape[0])
    return bad_tensor("q", say("the ", rows, " rows of qo_indptr"), std::to_string(t.q->shape[0]));
  return std::nullopt;
}

cpu::Operand operand(const aiter_tensor_t& t) {
  return {.data = static_cast<const std::byte*>(t.ptr),
          .rows = t.shape[0],
          .heads = t.shape[1],
          .dim = t.shape[2],
          .dtype = Dtype::fp8};
}

PrefillStep step_of(Arch arch, bool causal, const mla_prefill_tensors& t) {
  const auto words = [](const aiter_tensor_t* x) { return elements<const std::int32_t>(*x); };
  return {
      .arch = arch,
      .launch = {.plan = {{.work_indptr = words(t.work_indptr),
                           .work_info = words(t.work_info_set)},
                          words(t.qo_indptr),
                          words(t.kv_indptr),
                          words(t.kv_page_indices)},
                 .q = operand(*t.q),
                 .k = operand(*t.k),
                 .v = operand(*t.v),
                 .causal = causal},
      .output = {.out = {static_cast<std::uint16_t*>(t.output->ptr), t.q->shape[1] * kVDim, kVDim},
                 .lse = {},
                 .rows = t.q->shape[0],
                 .heads = t.q->shape[1],
                 .partial_out = static_cast<float*>(t.split_data->ptr),
                 .partial_lse = static_cast<float*>(t.split_lse->ptr),
                 .partial_rows = t.split_data->shape[0],
                 .owner = {}}};
}

MaybeFailure prefill(std::int64_t arch_number, std::int64_t is_causal,
                     const mla_prefill_tensors* tensors, double softmax_scale) {
  if (tensors == nullptr) return usage("tensors is NULL");
  const auto arch = arch_of(arch_number);
  if (!arch) return failure_of(arch.error());
  if (*arch == Arch::gfx942)
    return Failure{MLA_UNSUPPORTED, "gfx942 has no persistent prefill kernel for fp8; gfx950 has",
                   "", ""};
  if (auto bad = check_flags({{"is_causal", is_causal}})) return bad;
  if (auto bad = check_operands(*tensors)) return bad;
  if (auto bad = check_lists(*tensors)) return bad;
  if (auto bad = check_outputs(*tensors)) return bad;
  const auto backend = chosen_backend();
  if (!backend) return failure_of(backend.error());
  if (*backend != BackendKind::cpu)
    if (auto bad = check_lengths(*tensors)) return bad;
  PrefillStep step = step_of(*arch, is_causal != 0, *tensors);
  float q_scale = 1;
  float k_scale = 1;
  if (auto bad = read_scale("q_scale", tensors->q_scale, false, q_scale)) return bad;
  if (auto bad = read_scale("k_scale", tensors->k_scale, false, k_scale)) return bad;
  if (auto bad = read_scale("v_scale", tensors->v_scale, false, step.v_scale)) return bad;
  step.launch.score_scale = static_cast<float>(softmax_scale) * q_scale * k_scale;
  return run_prefill(*backend, step);
}

}  // namespace
}  // namespace mla::c_api

extern "C" int mla_prefill(int64_t arch, int64_t is_causal, const mla_prefill_tensors* tensors,
                           double softmax_scale) {
  return mla::c_api::at_border(
      [&] { return mla::c_api::prefill(arch, is_causal, tensors, softmax_scale); });
}

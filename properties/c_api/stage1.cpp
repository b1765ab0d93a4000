// Stage 1 of a decode through the C interface.
#include "core/say.hpp"
#include "cpu_backend/calls/stage1_call.hpp"

#include <utility>

#include "properties/c_api/aiter/decode_call.hpp"
#include "properties/c_api/aiter/decode_device.hpp"
#include "properties/c_api/aiter/decode_step.hpp"
#include "properties/c_api/backend.hpp"
#include "properties/c_api/execution.hpp"
#include "properties/c_api/options.hpp"
#include "properties/c_api/stage1_inputs.hpp"
#include "properties/c_api/stage1_run.hpp"
#include "properties/c_api/tensors.hpp"

namespace mla::c_api {
namespace {

using MaybeFailure = std::optional<Failure>;

MaybeFailure check_options(const mla_stage1_options& o) {
  if (auto bad = check_fields({{"max_seqlen_q", o.max_seqlen_q, 1, kMaxRows},
                               {"page_size", o.page_size, 1, kMaxGranularity},
                               {"nhead_kv", o.nhead_kv, 1, 1}}))
    return bad;
  return check_flags({{"causal", o.causal}});
}

// The works of a plan, or the splits.
MaybeFailure check_works(const mla_stage1_tensors& t) {
  if (t.num_kv_splits_indptr != nullptr)
    return check_tensor(t.num_kv_splits_indptr, {.name = "num_kv_splits_indptr",
                                                 .dtypes = {MLA_DTYPE_I32},
                                                 .shape = {t.qo_indptr->shape[0]}});
  if (t.work_meta_data != nullptr)
    if (auto bad = check_tensor(
            t.work_meta_data, {.name = "work_meta_data", .dtypes = {MLA_DTYPE_U64}, .shape = {2}}))
      return bad;
  if (auto bad = check_tensor(t.work_indptr,
                              {.name = "work_indptr", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny}}))
    return bad;
  if (t.work_indptr->shape[0] < 1) return bad_tensor("work_indptr", "at least 1 entry", "0");
  return check_tensor(
      t.work_info_set,
      {.name = "work_info_set", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny, plan::kWorkItemWords}});
}

// What is written. Partial rows and splits stand in the first two extents of split_data.
MaybeFailure check_outputs(const mla_stage1_tensors& t, ValueDims values) {
  const std::int64_t rows = t.q->shape[0];
  const std::int64_t heads = t.q->shape[1];
  const std::int64_t dims = values.count();
  const bool planned = t.num_kv_splits_indptr == nullptr;
  if (auto bad = check_tensor(t.split_data,
                              {.name = "split_data",
                               .dtypes = {MLA_DTYPE_FP32, MLA_DTYPE_BF16},
                               .shape = {planned ? kAny : rows, planned ? 1 : kAny, heads, dims}}))
    return bad;
  const std::int64_t splits = t.split_data->shape[1];
  if (splits < 1 || splits > kMaxSplits)
    return bad_tensor("split_data", "1 to 65536 splits", std::to_string(splits));
  if (t.split_data->dtype == MLA_DTYPE_BF16 && (planned || splits > 1))
    return bad_tensor("split_data", "dtype fp32: bf16 is the output of a single split", "bf16");
  if (auto bad = check_tensor(t.split_lse, {.name = "split_lse", .dtypes = {MLA_DTYPE_FP32}}))
    return bad;
  if (t.split_lse->numel * dims != t.split_data->numel)
    return bad_tensor("split_lse", say(t.split_data->numel / dims, " elements as split_data"),
                      std::to_string(t.split_lse->numel));
  if (auto bad = check_tensor(
          t.output, {.name = "output", .dtypes = {MLA_DTYPE_BF16}, .shape = {rows, heads, dims}}))
    return bad;
  if (t.lse == nullptr) return std::nullopt;
  return check_tensor(t.lse, {.name = "lse", .dtypes = {MLA_DTYPE_FP32}, .shape = {rows, heads}});
}

// The splits of every request, which have to be as many as split_data holds.
MaybeFailure check_splits(const mla_stage1_tensors& t) {
  if (t.num_kv_splits_indptr == nullptr) return std::nullopt;
  const std::int64_t splits = t.split_data->shape[1];
  const auto indptr = elements<const std::int32_t>(*t.num_kv_splits_indptr);
  for (std::size_t r = 0; r < indptr.size(); ++r)
    if (indptr[r] != static_cast<std::int64_t>(r) * splits)
      return Failure{MLA_UNSUPPORTED,
                     say("num_kv_splits_indptr[", r, "] is ", indptr[r], "; every request has the ",
                         splits, " splits of split_data here"),
                     "", ""};
  return std::nullopt;
}

void set_outputs(cpu::Stage1Call& call, const mla_stage1_tensors& t) {
  const bool bf16 = t.split_data->dtype == MLA_DTYPE_BF16;
  const bool planned = t.num_kv_splits_indptr == nullptr;
  call.splits = t.split_data->shape[1];
  call.partial_rows = t.split_data->shape[0] * t.split_data->shape[1];
  call.partial_out = bf16 ? nullptr : static_cast<float*>(t.split_data->ptr);
  call.partial_lse = static_cast<float*>(t.split_lse->ptr);
  if (planned) {
    call.out = static_cast<std::uint16_t*>(t.output->ptr);
    call.lse = t.lse != nullptr ? static_cast<float*>(t.lse->ptr) : nullptr;
  } else if (bf16) {
    call.out = static_cast<std::uint16_t*>(t.split_data->ptr);
    call.lse = call.partial_lse;
  }
}

// `meta` stands in for work_meta_data where the caller gives the two lists alone.
void set_plan(cpu::Stage1Call& call, const mla_stage1_tensors& t, std::uint64_t (&meta)[2]) {
  if (t.num_kv_splits_indptr != nullptr) return;
  const auto indptr = elements<const std::int32_t>(*t.work_indptr);
  const auto info = elements<const std::int32_t>(*t.work_info_set);
  meta[0] = reinterpret_cast<std::uintptr_t>(indptr.data());
  meta[1] = reinterpret_cast<std::uintptr_t>(info.data());
  const auto* given =
      t.work_meta_data != nullptr ? static_cast<const std::uint64_t*>(t.work_meta_data->ptr) : meta;
  call.plan.emplace(plan::PlanView{std::span<const std::uint64_t, 2>(given, 2),
                                   {.work_indptr = indptr, .work_info = info}});
}

// AITER's own kernel, in the gfx emulator.
MaybeFailure by_code_objects(Arch arch, const mla_stage1_options& o, const mla_stage1_tensors& t,
                             double softmax_scale) {
  auto machine = aiter::code_object_machine(arch);
  if (!machine) return not_there(machine.error());
  aiter::DecodeStep step;
  if (auto bad = aiter::check_step({.q = t.q,
                                    .kv = t.kv,
                                    .qo_indptr = t.qo_indptr,
                                    .kv_indptr = t.kv_indptr,
                                    .kv_indices = t.kv_page_indices,
                                    .last_page_len = t.kv_last_page_lens,
                                    .splits_indptr = t.num_kv_splits_indptr,
                                    .work_meta_data = t.work_meta_data,
                                    .work_indptr = t.work_indptr,
                                    .work_info = t.work_info_set,
                                    .max_seqlen_q = o.max_seqlen_q,
                                    .page_size = o.page_size,
                                    .kv_heads = o.nhead_kv,
                                    .softmax_scale = static_cast<float>(softmax_scale),
                                    .split_data = t.split_data,
                                    .split_lse = t.split_lse,
                                    .output = t.output,
                                    .lse = t.lse,
                                    .q_scale = t.q_scale,
                                    .kv_scale = t.kv_scale,
                                    .global_kv_indptr = nullptr,
                                    .ranks = 1,
                                    .rank = 0,
                                    .causal = o.causal != 0},
                                   std::move(*machine), step))
    return bad;
  const auto selection = aiter::select_kernel(step);
  if (!selection) return failure_of(selection.error());
  const cpu::Stage1Call call = aiter::call_of(step);
  const auto list = cpu::stage1_tasks(call);
  if (!list) return failure_of(list.error());
  if (!list->faults.empty()) return failure_of_faults("stage 1", list->faults);
  return answer_for_outputs(call, *list, [&] { return aiter::run_on_device(step, *selection); });
}

MaybeFailure run(BackendKind backend, cpu::Stage1Call call) {
  auto list = cpu::prepare_stage1_call(call);
  if (!list) return failure_of(list.error());
  if (backend == BackendKind::hip) {
    if (!list->faults.empty()) return failure_of_faults("stage 1", list->faults);
    return answer_for_outputs(call, *list, [&] { return run_on_chosen_device(call, *list); });
  }
  std::vector<Fault> faults;
  auto unwritten = answer_for_outputs(call, *list, [&] {
    faults = cpu::run_stage1_tasks(call, *list, threads()).faults;
    return MaybeFailure();
  });
  // A work that is wrong was left out, and is the reason for what it did not write.
  if (auto bad = failure_of_faults("stage 1", faults)) return bad;
  return unwritten;
}

MaybeFailure decode_stage1(const mla_stage1_options* options, const mla_stage1_tensors* tensors,
                           double softmax_scale) {
  if (options == nullptr || tensors == nullptr) return usage("options or tensors is NULL");
  if (auto bad = check_options(*options)) return bad;
  const auto arch = arch_of(options->arch);
  if (!arch) return failure_of(arch.error());
  if (auto bad = check_inputs(*tensors, options->page_size)) return bad;
  if (auto bad = check_works(*tensors)) return bad;
  ValueDims values;
  if (auto bad = read_value_width(*tensors, values)) return bad;
  if (auto bad = check_outputs(*tensors, values)) return bad;
  if (auto bad = check_splits(*tensors)) return bad;
  const auto backend = chosen_backend();
  if (!backend) return failure_of(backend.error());
  if (*backend == BackendKind::aiter)
    return by_code_objects(*arch, *options, *tensors, softmax_scale);
  cpu::Stage1Call call = inputs_of(*tensors, options->page_size, values);
  call.arch = *arch;
  call.max_qo_len = options->max_seqlen_q;
  call.causal = options->causal != 0;
  call.softmax_scale = static_cast<float>(softmax_scale);
  std::uint64_t meta[2] = {};
  set_plan(call, *tensors, meta);
  set_outputs(call, *tensors);
  if (auto bad = set_scales(call, *tensors)) return bad;
  return run(*backend, call);
}

}  // namespace
}  // namespace mla::c_api

extern "C" {

void mla_stage1_defaults(mla_stage1_options* options) {
  if (options != nullptr)
    *options = {.arch = MLA_GFX942, .max_seqlen_q = 1, .page_size = 1, .nhead_kv = 1, .causal = 1};
}

int mla_decode_stage1(const mla_stage1_options* options, const mla_stage1_tensors* tensors,
                      double softmax_scale) {
  return mla::c_api::at_border(
      [&] { return mla::c_api::decode_stage1(options, tensors, softmax_scale); });
}
}

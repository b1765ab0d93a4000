#include "properties/c_api/aiter/decode_step.hpp"

#include <bit>
#include <string>
#include <vector>

#include "core/say.hpp"
#include "core/units.hpp"
#include "hip_backend/aiter/kernarg_range.hpp"
#include "properties/c_api/tensors.hpp"

namespace mla::c_api::aiter {
namespace {

using MaybeFailure = std::optional<Failure>;

// One of the lists of int32; `entries` may be kAny.
MaybeFailure list(const char* name, const aiter_tensor_t* tensor, std::int64_t entries,
                  std::span<const std::int32_t>& to) {
  if (auto bad =
          check_tensor(tensor, {.name = name, .dtypes = {MLA_DTYPE_I32}, .shape = {entries}}))
    return bad;
  to = elements<const std::int32_t>(*tensor);
  return std::nullopt;
}

// A scale of one element that AITER's kernels read; NULL leaves 1.
MaybeFailure scale(const char* name, const aiter_tensor_t* tensor, bool wanted, float& to) {
  if (tensor == nullptr) {
    if (wanted) return usage(say("parameter '", name, "' is NULL; fp8 needs it"));
    return std::nullopt;
  }
  if (auto bad = check_tensor(tensor, {.name = name, .dtypes = {MLA_DTYPE_FP32}})) return bad;
  if (tensor->numel < 1) return bad_tensor(name, "one element", "none");
  if (wanted) to = *static_cast<const float*>(tensor->ptr);
  return std::nullopt;
}

MaybeFailure operands(const DecodeCall& call, DecodeStep& step) {
  if (auto bad = check_tensor(
          call.q,
          {.name = "Q", .dtypes = {MLA_DTYPE_BF16, MLA_DTYPE_FP8}, .shape = {kAny, kAny, kAny}}))
    return bad;
  constexpr std::int64_t key = kBuiltIn.key().count();
  if (call.q->shape[2] != key)
    return unsupported(say("'Q' has rows of ", call.q->shape[2],
                           " elements; AITER's MLA kernels have ", key, " built in (",
                           text_of(kBuiltIn), ")"));
  if (call.kv != nullptr && (call.kv->dtype == MLA_DTYPE_U8 || call.kv->dtype == MLA_DTYPE_I8))
    return unsupported(
        "the cache 'KV' has elements of one byte (fp8 latents, scales and rope of a token "
        "together); mla-testbed has bf16 and fp8 caches here");
  if (auto bad = check_tensor(call.kv, {.name = "KV",
                                        .dtypes = {MLA_DTYPE_BF16, MLA_DTYPE_FP8},
                                        .shape = {kAny, call.page_size, 1, key},
                                        .contiguous = false}))
    return bad;
  if (call.kv->strides[3] != 1 || call.kv->strides[1] != key)
    return bad_tensor("KV", "tokens of 576 elements, one after the other in a page",
                      "other strides");
  // Nothing is added for a page alone, whatever stands there.
  if (call.kv->shape[0] > 1)
    if (const MaybeError bad = hip::aiter::fits_kernarg(
            "the bytes from a page of 'KV' to the next, of stride times element size,",
            call.kv->strides[0], dtype_bytes(call.kv->dtype)))
      return failure_of(*bad);
  if (call.kv_heads != 1) return unsupported(say("nhead_kv is ", call.kv_heads, "; AITER takes 1"));
  step.q_dtype = call.q->dtype == MLA_DTYPE_FP8 ? Dtype::fp8 : Dtype::bf16;
  step.kv_dtype = call.kv->dtype == MLA_DTYPE_FP8 ? Dtype::fp8 : Dtype::bf16;
  step.q_rows = call.q->shape[0];
  step.heads = call.q->shape[1];
  step.pages = call.kv->shape[0];
  step.page_bytes = call.kv->strides[0] * element_bytes(step.kv_dtype);
  step.q = static_cast<const std::byte*>(call.q->ptr);
  step.kv = static_cast<const std::byte*>(call.kv->ptr);
  if (auto bad = scale("q_scale", call.q_scale, step.q_dtype == Dtype::fp8, step.q_scale))
    return bad;
  return scale("kv_scale", call.kv_scale,
               step.q_dtype == Dtype::fp8 || (step.kv_dtype == Dtype::fp8 && call.kv_scale),
               step.kv_scale);
}

MaybeFailure lists(const DecodeCall& call, DecodeStep& step) {
  if (auto bad = list("qo_indptr", call.qo_indptr, kAny, step.qo_indptr)) return bad;
  step.requests = std::ssize(step.qo_indptr) - 1;
  if (step.requests < 1) return bad_tensor("qo_indptr", "2 entries or more", "fewer");
  if (auto bad = list("kv_indptr", call.kv_indptr, step.requests + 1, step.kv_indptr)) return bad;
  if (auto bad = list("kv_page_indices", call.kv_indices, kAny, step.kv_indices)) return bad;
  if (auto bad = list("kv_last_page_lens", call.last_page_len, step.requests, step.last_page_len))
    return bad;
  if (call.global_kv_indptr == nullptr) return std::nullopt;
  if (call.ranks < 1 || call.rank < 0 || call.rank >= call.ranks)
    return usage(say("cp_rank is ", call.rank, " of cp_world_size ", call.ranks));
  step.ranks = call.ranks;
  step.rank = call.rank;
  return list("g_kv_indptr", call.global_kv_indptr, step.requests + 1, step.global_kv_indptr);
}

MaybeFailure works(const DecodeCall& call, DecodeStep& step) {
  if (auto bad = list("work_indptr", call.work_indptr, kAny, step.work_indptr)) return bad;
  if (auto bad = check_tensor(
          call.work_info, {.name = "work_info_set", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny, 8}}))
    return bad;
  step.work_info = elements<const std::int32_t>(*call.work_info);
  step.work_meta_data = {std::bit_cast<std::uint64_t>(call.work_indptr->ptr),
                         std::bit_cast<std::uint64_t>(call.work_info->ptr)};
  if (call.work_meta_data == nullptr) return std::nullopt;
  if (auto bad =
          check_tensor(call.work_meta_data,
                       {.name = "work_meta_data", .dtypes = {MLA_DTYPE_U64}, .shape = {kAny}}))
    return bad;
  if (call.work_meta_data->numel < 2) return bad_tensor("work_meta_data", "2 elements", "fewer");
  // What the kernels follow. The two tensors are there so that a wrong address can be told.
  const auto* meta = static_cast<const std::uint64_t*>(call.work_meta_data->ptr);
  const char* names[] = {"work_indptr", "work_info_set"};
  for (std::size_t i = 0; i < step.work_meta_data.size(); ++i)
    if (meta[i] != step.work_meta_data[i])
      return Failure{
          MLA_FAULT,
          say("work_meta_data[", i, "] is ", meta[i], ", which is not the address of the tensor '",
              names[i], "': the plan was moved, or never written"),
          "", ""};
  return std::nullopt;
}

MaybeFailure outputs(const DecodeCall& call, DecodeStep& step) {
  const std::int64_t heads = step.heads;
  constexpr std::int64_t value = kBuiltIn.value().count();
  if (auto bad = check_tensor(
          call.output,
          {.name = "output", .dtypes = {MLA_DTYPE_BF16}, .shape = {step.q_rows, heads, value}}))
    return bad;
  step.output = static_cast<std::uint16_t*>(call.output->ptr);
  if (auto bad = check_tensor(call.split_data, {.name = "splitData",
                                                .dtypes = {MLA_DTYPE_FP32, MLA_DTYPE_BF16},
                                                .shape = {kAny, kAny, heads, value}}))
    return bad;
  step.splits = call.split_data->shape[1];
  step.partial_rows = call.split_data->shape[0] * step.splits;
  if (auto bad = check_tensor(call.split_lse,
                              {.name = "splitLse",
                               .dtypes = {MLA_DTYPE_FP32},
                               .shape = {call.split_data->shape[0], step.splits, heads, 1}}))
    return bad;
  step.split_data = static_cast<std::byte*>(call.split_data->ptr);
  step.split_lse = static_cast<float*>(call.split_lse->ptr);
  // One kernel writes f32 with a single split, for the merge; all others write bf16.
  step.bf16_partials = !step.persistent && step.splits == 1 &&
                       !(heads == 16 && step.max_qo_len == 1 && step.q_dtype == Dtype::bf16);
  const bool is_bf16 = call.split_data->dtype == MLA_DTYPE_BF16;
  if (is_bf16 && !step.bf16_partials) return bad_tensor("splitData", "f32 for this launch", "bf16");
  if (call.lse == nullptr) return std::nullopt;
  if (auto bad = check_tensor(
          call.lse, {.name = "lse", .dtypes = {MLA_DTYPE_FP32}, .shape = {step.q_rows, heads}}))
    return bad;
  step.lse = static_cast<float*>(call.lse->ptr);
  return std::nullopt;
}

}  // namespace

MaybeFailure check_step(const DecodeCall& call, Machine machine, DecodeStep& step) {
  if (call.page_size < 1 || !is_power_of_two(call.page_size))
    return usage(say("page_size is ", call.page_size, "; expected a power of two"));
  if (call.max_seqlen_q < 1)
    return usage(say("max_seqlen_q is ", call.max_seqlen_q, "; expected 1 or more"));
  step.machine = std::move(machine);
  step.page_size = call.page_size;
  step.max_qo_len = call.max_seqlen_q;
  step.softmax_scale = call.softmax_scale;
  step.causal = call.causal;
  step.persistent = call.splits_indptr == nullptr;
  if (auto bad = operands(call, step)) return bad;
  if (auto bad = lists(call, step)) return bad;
  if (auto bad = step.persistent ? works(call, step)
                                 : list("num_kv_splits_indptr", call.splits_indptr,
                                        step.requests + 1, step.splits_indptr))
    return bad;
  return outputs(call, step);
}

}  // namespace mla::c_api::aiter

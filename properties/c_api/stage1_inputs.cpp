#include "properties/c_api/stage1_inputs.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/say.hpp"
#include "properties/c_api/execution.hpp"
#include "properties/c_api/options.hpp"
#include "properties/c_api/tensors.hpp"

namespace mla::c_api {

std::optional<Failure> check_inputs(const mla_stage1_tensors& t, std::int64_t page_size) {
  if (auto bad = check_tensor(
          t.q,
          {.name = "q", .dtypes = {MLA_DTYPE_BF16, MLA_DTYPE_FP8}, .shape = {kAny, kAny, kAny}}))
    return bad;
  const std::int64_t key = t.q->shape[2];
  if (key < 1 || key > kMostKeyDims)
    return bad_tensor("q", say("rows of 1 to ", kMostKeyDims, " elements"), std::to_string(key));
  if (auto bad = check_tensor(t.kv, {.name = "kv",
                                     .dtypes = {MLA_DTYPE_BF16, MLA_DTYPE_FP8},
                                     .shape = {kAny, page_size, 1, key},
                                     .contiguous = false}))
    return bad;
  if (t.kv->numel > 0 && (t.kv->strides[3] != 1 || (page_size > 1 && t.kv->strides[1] != key) ||
                          (t.kv->shape[0] > 1 && t.kv->strides[0] < page_size * key)))
    return bad_tensor("kv", "pages that are contiguous and do not overlap",
                      "strides " + shape_text({t.kv->strides, 4}));
  if (auto bad = check_tensor(t.qo_indptr,
                              {.name = "qo_indptr", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny}}))
    return bad;
  const std::int64_t entries = t.qo_indptr->shape[0];
  if (entries < 2 || entries > kMaxBatch + 1)
    return bad_tensor("qo_indptr", "2 to 2^20 + 1 entries", std::to_string(entries));
  const std::pair<const aiter_tensor_t*, Wanted> lists[] = {
      {t.kv_indptr, {.name = "kv_indptr", .dtypes = {MLA_DTYPE_I32}, .shape = {entries}}},
      {t.kv_page_indices, {.name = "kv_page_indices", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny}}},
      {t.kv_last_page_lens,
       {.name = "kv_last_page_lens", .dtypes = {MLA_DTYPE_I32}, .shape = {entries - 1}}}};
  for (const auto& [tensor, wanted] : lists)
    if (auto bad = check_tensor(tensor, wanted)) return bad;
  return check_running_sum("qo_indptr", *t.qo_indptr);
}

std::optional<Failure> read_value_width(const mla_stage1_tensors& t, ValueDims& values) {
  const std::int64_t key = t.q->shape[2];
  const std::int64_t found =
      t.output != nullptr && t.output->ndim == 3 ? t.output->shape[2] : kBuiltIn.value().count();
  const std::int64_t most = std::min(key, kMostValueDims);
  if (found < 1 || found > most)
    return bad_tensor("output", say("rows of 1 to ", most, " elements, as q has rows of ", key),
                      std::to_string(found));
  values = ValueDims(found);
  return std::nullopt;
}

cpu::Stage1Call inputs_of(const mla_stage1_tensors& t, std::int64_t page_size, ValueDims values) {
  cpu::Stage1Call call;
  const auto dtype = [](const aiter_tensor_t& x) {
    return x.dtype == MLA_DTYPE_FP8 ? Dtype::fp8 : Dtype::bf16;
  };
  call.dtype = {dtype(*t.q), dtype(*t.kv)};
  call.q = static_cast<const std::byte*>(t.q->ptr);
  call.q_rows = t.q->shape[0];
  call.heads = t.q->shape[1];
  const std::int64_t key = t.q->shape[2];
  call.widths = RowWidths(KeyDims(key), values);
  const std::int64_t size = element_bytes(call.dtype.kv);
  const std::int64_t stride = t.kv->shape[0] > 1 ? t.kv->strides[0] : page_size * key;
  call.cache = {.bytes = static_cast<const std::byte*>(t.kv->ptr),
                .slots = t.kv->shape[0] * page_size,
                .row_bytes = key * size,
                .gap_slots = page_size,
                .gap_bytes = (stride - page_size * key) * size};
  call.page_size = page_size;
  call.qo_indptr = elements<const std::int32_t>(*t.qo_indptr);
  call.kv_indptr = elements<const std::int32_t>(*t.kv_indptr);
  call.kv_indices = elements<const std::int32_t>(*t.kv_page_indices);
  call.last_page_len = elements<const std::int32_t>(*t.kv_last_page_lens);
  return call;
}

std::optional<Failure> set_scales(cpu::Stage1Call& call, const mla_stage1_tensors& t) {
  const bool needed = call.dtype.q == Dtype::fp8;
  if (auto bad = read_scale("q_scale", t.q_scale, needed, call.q_scale)) return bad;
  if (auto bad = read_scale("kv_scale", t.kv_scale, needed, call.kv_scale)) return bad;
  if (call.dtype.q == Dtype::bf16) call.q_scale = 1;
  if (call.dtype.kv == Dtype::bf16) call.kv_scale = 1;
  return std::nullopt;
}

}  // namespace mla::c_api

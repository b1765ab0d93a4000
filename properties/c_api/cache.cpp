// The cache writers through the C interface.
#include <string_view>

#include "core/say.hpp"
#include "cpu_backend/calls/cache_call.hpp"
#include "properties/c_api/backend.hpp"
#include "properties/c_api/execution.hpp"
#include "properties/c_api/options.hpp"
#include "properties/c_api/tensors.hpp"

namespace mla::c_api {
namespace {

using MaybeFailure = std::optional<Failure>;

struct Writing {
  const aiter_tensor_t *kv_c, *k_pe, *kv_cache, *slot_mapping, *scale;
  const char* kv_cache_dtype;
};

// Rows that lie dense in themselves, one for each token; a batch that is padded has more.
MaybeFailure check_source(const char* name, const aiter_tensor_t* tensor, std::int64_t tokens) {
  if (auto bad = check_tensor(tensor, {.name = name,
                                       .dtypes = {MLA_DTYPE_BF16, MLA_DTYPE_FP16, MLA_DTYPE_FP32},
                                       .shape = {kAny, kAny},
                                       .contiguous = false}))
    return bad;
  if (tensor->shape[0] < tokens)
    return bad_tensor(name, say("the ", tokens, " tokens of slot_mapping"),
                      "shape " + shape_text({tensor->shape, 2}));
  if (tensor->numel > 0 && tensor->shape[1] > 1 && tensor->strides[1] != 1)
    return bad_tensor(name, "a dense last dimension",
                      "strides " + shape_text({tensor->strides, 2}));
  return std::nullopt;
}

MaybeFailure check_cache(const Writing& w, bool fp8) {
  const mla_dtype wanted = fp8 ? MLA_DTYPE_FP8 : static_cast<mla_dtype>(w.kv_c->dtype);
  const std::int64_t width = w.kv_c->shape[1] + w.k_pe->shape[1];
  if (auto bad = check_tensor(w.kv_cache, {.name = "kv_cache",
                                           .dtypes = {wanted},
                                           .shape = {kAny, kAny, width},
                                           .contiguous = false}))
    return bad;
  const aiter_tensor_t& c = *w.kv_cache;
  const bool dense = c.strides[2] == 1 && (c.shape[1] < 2 || c.strides[1] >= width) &&
                     (c.shape[0] < 2 || c.strides[0] >= (c.shape[1] - 1) * c.strides[1] + width);
  if (c.numel > 0 && !dense)
    return bad_tensor("kv_cache", "entries that are dense and do not overlap",
                      "strides " + shape_text({c.strides, 3}));
  return std::nullopt;
}

MaybeFailure concat_and_cache(std::int64_t arch_number, const Writing& w) {
  const auto arch = arch_of(arch_number);
  if (!arch) return failure_of(arch.error());
  const std::string_view cache_dtype = w.kv_cache_dtype != nullptr ? w.kv_cache_dtype : "NULL";
  const bool fp8 = cache_dtype == "fp8" || cache_dtype == "fp8_e4m3";
  if (!fp8 && cache_dtype != "auto")
    return usage(say("kv_cache_dtype is '", cache_dtype, "'; expected auto or fp8"));
  if (auto bad = check_tensor(w.slot_mapping,
                              {.name = "slot_mapping", .dtypes = {MLA_DTYPE_I64}, .shape = {kAny}}))
    return bad;
  const std::int64_t tokens = w.slot_mapping->shape[0];
  if (auto bad = check_source("kv_c", w.kv_c, tokens)) return bad;
  if (auto bad = check_source("k_pe", w.k_pe, tokens)) return bad;
  if (w.k_pe->dtype != w.kv_c->dtype)
    return bad_tensor("k_pe", say("the dtype of kv_c, ", dtype_name(w.kv_c->dtype)),
                      std::string(dtype_name(w.k_pe->dtype)));
  if (auto bad = check_cache(w, fp8)) return bad;
  cpu::CacheWrite write;
  if (auto bad = read_scale("scale", w.scale, fp8, write.scale)) return bad;
  const auto rows = [](const aiter_tensor_t& t) {
    return cpu::SourceRows{.data = static_cast<const std::byte*>(t.ptr),
                           .row_stride = t.strides[0],
                           .width = t.shape[1]};
  };
  write.type = source_type(w.kv_c->dtype);
  write.latent = rows(*w.kv_c);
  write.rope = rows(*w.k_pe);
  write.slots = elements<const std::int64_t>(*w.slot_mapping);
  write.cache = static_cast<std::byte*>(w.kv_cache->ptr);
  write.blocks = w.kv_cache->shape[0];
  write.block_size = w.kv_cache->shape[1];
  write.block_stride = w.kv_cache->strides[0];
  write.entry_stride = w.kv_cache->strides[1];
  write.fp8 = fp8;
  write.variant = fp8_variant(*arch);
  return failure_of_faults("concat_and_cache", cpu::concat_and_cache(write));
}

}  // namespace
}  // namespace mla::c_api

extern "C" int mla_concat_and_cache(int64_t arch, const aiter_tensor_t* kv_c,
                                    const aiter_tensor_t* k_pe, const aiter_tensor_t* kv_cache,
                                    const aiter_tensor_t* slot_mapping, const char* kv_cache_dtype,
                                    const aiter_tensor_t* scale) {
  return mla::c_api::at_border([&] {
    return mla::c_api::concat_and_cache(
        arch, {kv_c, k_pe, kv_cache, slot_mapping, scale, kv_cache_dtype});
  });
}

// Rotary embedding with the cache write, through the C interface.
#include "core/say.hpp"
#include "cpu_backend/calls/rope_cache_call.hpp"

#include "properties/c_api/backend.hpp"
#include "properties/c_api/execution.hpp"
#include "properties/c_api/options.hpp"
#include "properties/c_api/tensors.hpp"

namespace mla::c_api {
namespace {

using MaybeFailure = std::optional<Failure>;
using Options = mla_rope_cache_options;

constexpr std::int64_t kSegmentedPage = 64;  // tokens of a page whose parts lie apart
const std::initializer_list<mla_dtype> kSources = {MLA_DTYPE_BF16, MLA_DTYPE_FP16, MLA_DTYPE_FP32};

// [tokens, heads, width] or, for one head of keys, [tokens, width].
MaybeFailure head_rows(const char* name, const aiter_tensor_t* tensor, std::int64_t tokens,
                       bool one_head, cpu::RopeRows& rows, std::int64_t& heads) {
  if (auto bad = check_tensor(tensor, {.name = name, .dtypes = kSources, .contiguous = false}))
    return bad;
  const aiter_tensor_t& t = *tensor;
  const auto shape = std::span(t.shape, static_cast<std::size_t>(t.ndim));
  if (t.ndim != 3 && !(one_head && t.ndim == 2))
    return bad_tensor(name, one_head ? "2 or 3 dimensions" : "3 dimensions",
                      "shape " + shape_text(shape));
  const int last = t.ndim - 1;
  if (t.shape[0] < tokens)
    return bad_tensor(name, say("the ", tokens, " tokens of slot_mapping"),
                      "shape " + shape_text(shape));
  if (t.numel > 0 && t.shape[last] > 1 && t.strides[last] != 1)
    return bad_tensor(name, "a dense last dimension",
                      "strides " + shape_text({t.strides, shape.size()}));
  heads = t.ndim == 3 ? t.shape[1] : 1;
  rows = {.data = static_cast<const std::byte*>(t.ptr),
          .token_stride = t.strides[0],
          .head_stride = t.ndim == 3 ? t.strides[1] : 0,
          .width = t.shape[last]};
  return std::nullopt;
}

MaybeFailure same(const char* name, const char* what, std::int64_t wanted, std::int64_t found) {
  if (wanted == found) return std::nullopt;
  return bad_tensor(name, say(wanted, " ", what), std::to_string(found));
}

MaybeFailure sources(const mla_rope_cache_tensors& t, cpu::RopeCacheWrite& w) {
  const auto tokens = std::ssize(w.slots);
  std::int64_t pe_heads = 0;
  std::int64_t k_heads = 0;
  if (auto bad = head_rows("q_nope", t.q_nope, tokens, false, w.q_nope, w.heads)) return bad;
  if (auto bad = head_rows("q_pe", t.q_pe, tokens, false, w.q_pe, pe_heads)) return bad;
  if (auto bad = head_rows("kv_c", t.kv_c, tokens, true, w.kv_c, w.kv_heads)) return bad;
  if (auto bad = head_rows("k_pe", t.k_pe, tokens, true, w.k_pe, k_heads)) return bad;
  if (auto bad = same("q_pe", "heads as q_nope", w.heads, pe_heads)) return bad;
  if (auto bad = same("k_pe", "heads as kv_c", w.kv_heads, k_heads)) return bad;
  if (auto bad = same("kv_c", "elements a row as q_nope", w.q_nope.width, w.kv_c.width)) return bad;
  if (auto bad = same("k_pe", "elements a row as q_pe", w.q_pe.width, w.k_pe.width)) return bad;
  if (w.k_pe.width % 2 != 0)
    return bad_tensor("k_pe", "an even number of elements a row", std::to_string(w.k_pe.width));
  const std::pair<const char*, const aiter_tensor_t*> others[] = {{"q_pe", t.q_pe},
                                                                  {"kv_c", t.kv_c},
                                                                  {"k_pe", t.k_pe},
                                                                  {"cos_cache", t.cos_cache},
                                                                  {"sin_cache", t.sin_cache}};
  for (const auto& [name, tensor] : others)
    if (tensor != nullptr && tensor->dtype != t.q_nope->dtype)
      return bad_tensor(name, say("the dtype of q_nope, ", dtype_name(t.q_nope->dtype)),
                        std::string(dtype_name(tensor->dtype)));
  w.type = source_type(t.q_nope->dtype);
  return std::nullopt;
}

// [positions, .., width / 2]: extents between are 1.
MaybeFailure table_part(const char* name, const aiter_tensor_t* tensor, std::int64_t half,
                        const std::byte*& data, std::int64_t& stride, std::int64_t& positions) {
  if (auto bad = check_tensor(tensor, {.name = name, .dtypes = kSources, .contiguous = false}))
    return bad;
  const aiter_tensor_t& t = *tensor;
  const int last = t.ndim - 1;
  const bool fits = t.ndim >= 2 && t.shape[last] == half &&
                    t.numel == static_cast<std::size_t>(t.shape[0] * half) &&
                    (t.numel == 0 || half < 2 || t.strides[last] == 1);
  if (!fits)
    return bad_tensor(name, say("shape (any, ", half, ") with dense rows"),
                      "shape " + shape_text({t.shape, static_cast<std::size_t>(t.ndim)}) +
                          ", strides " + shape_text({t.strides, static_cast<std::size_t>(t.ndim)}));
  data = static_cast<const std::byte*>(t.ptr);
  stride = t.strides[0];
  positions = t.shape[0];
  return std::nullopt;
}

MaybeFailure table(const mla_rope_cache_tensors& t, cpu::RopeCacheWrite& w) {
  const std::int64_t half = w.k_pe.width / 2;
  cpu::RopeTable& table = w.table;
  std::int64_t of_sin = 0;
  if (auto bad =
          table_part("cos_cache", t.cos_cache, half, table.cos, table.cos_stride, table.positions))
    return bad;
  if (auto bad = table_part("sin_cache", t.sin_cache, half, table.sin, table.sin_stride, of_sin))
    return bad;
  return same("sin_cache", "positions as cos_cache", table.positions, of_sin);
}

// fp8, or the type of the sources.
MaybeFailure target(const char* name, const aiter_tensor_t* tensor, int source, bool& fp8) {
  const auto type = static_cast<mla_dtype>(source);
  if (auto bad = check_tensor(tensor,
                              {.name = name, .dtypes = {MLA_DTYPE_FP8, type}, .contiguous = false}))
    return bad;
  fp8 = tensor->dtype == MLA_DTYPE_FP8;
  if (tensor->numel > 0 && tensor->ndim > 0 && tensor->strides[tensor->ndim - 1] != 1)
    return bad_tensor(
        name, "a dense last dimension",
        "strides " + shape_text({tensor->strides, static_cast<std::size_t>(tensor->ndim)}));
  return std::nullopt;
}

MaybeFailure queries(const Options& o, const mla_rope_cache_tensors& t, cpu::RopeCacheWrite& w) {
  if (auto bad = target("q_out", t.q_out, t.q_nope->dtype, w.q_fp8)) return bad;
  const aiter_tensor_t& q = *t.q_out;
  const std::int64_t width = w.q_nope.width + w.q_pe.width;
  const bool wide = q.ndim == 3 && (o.segmented != 0 ? q.shape[2] >= width : q.shape[2] == width);
  if (!wide || q.shape[0] < std::ssize(w.slots) || q.shape[1] != w.heads)
    return bad_tensor("q_out",
                      "shape " + shape_text({{std::ssize(w.slots), w.heads, width}}) +
                          (o.segmented != 0 ? " or with longer rows" : ""),
                      "shape " + shape_text({q.shape, static_cast<std::size_t>(q.ndim)}));
  const bool apart = (q.shape[1] < 2 || q.strides[1] >= width) &&
                     (q.shape[0] < 2 || q.strides[0] >= (q.shape[1] - 1) * q.strides[1] + width ||
                      q.strides[1] >= (q.shape[0] - 1) * q.strides[0] + width);
  if (q.numel > 0 && !apart)
    return bad_tensor("q_out", "rows that do not overlap", "strides " + shape_text({q.strides, 3}));
  w.q_out = static_cast<std::byte*>(q.ptr);
  w.q_out_token_stride = q.strides[0];
  w.q_out_head_stride = q.strides[1];
  return std::nullopt;
}

// [blocks, block size, 576] or [blocks, block size, heads, 576].
MaybeFailure plain_cache(const aiter_tensor_t& c, cpu::RopeCacheWrite& w) {
  const std::int64_t width = w.kv_c.width + w.k_pe.width;
  const bool of_heads = c.ndim == 4;
  const int last = of_heads ? 3 : 2;
  const std::int64_t heads = of_heads ? c.shape[2] : 1;
  if ((c.ndim != 3 && c.ndim != 4) || c.shape[last] != width || heads != w.kv_heads)
    return bad_tensor("kv_cache",
                      say("shape (any, any, ", w.kv_heads, ", ", width, ")",
                          w.kv_heads == 1 ? ", or without the third extent" : ""),
                      "shape " + shape_text({c.shape, static_cast<std::size_t>(c.ndim)}));
  const std::int64_t head_stride = of_heads ? c.strides[2] : 0;
  const std::int64_t entry = (heads - 1) * head_stride + width;
  const bool apart = (heads < 2 || head_stride >= width) &&
                     (c.shape[1] < 2 || c.strides[1] >= entry) &&
                     (c.shape[0] < 2 || c.strides[0] >= (c.shape[1] - 1) * c.strides[1] + entry);
  if (c.numel > 0 && !apart)
    return bad_tensor("kv_cache", "entries that do not overlap",
                      "strides " + shape_text({c.strides, static_cast<std::size_t>(c.ndim)}));
  w.cache = {.data = static_cast<std::byte*>(c.ptr),
             .blocks = c.shape[0],
             .block_size = c.shape[1],
             .block_stride = c.strides[0],
             .head_stride = head_stride,
             .latent_start = w.nope_first ? 0 : w.k_pe.width,
             .latent_stride = c.strides[1],
             .rope_start = w.nope_first ? w.kv_c.width : 0,
             .rope_stride = c.strides[1]};
  return std::nullopt;
}

// [blocks, 64 * 512 + 64 * 64]: the latent parts of a page, then its rope parts.
MaybeFailure segmented_cache(const aiter_tensor_t& c, cpu::RopeCacheWrite& w) {
  const std::int64_t page = kSegmentedPage * (w.kv_c.width + w.k_pe.width);
  if (w.kv_heads != 1)
    return bad_tensor("kv_c", "1 head in the segmented layout", std::to_string(w.kv_heads));
  if (c.ndim < 2 || c.numel != static_cast<std::size_t>(c.shape[0] * page) ||
      (c.shape[0] > 1 && c.strides[0] < page))
    return bad_tensor("kv_cache", say("shape (any, ", page, "), pages of 64 tokens"),
                      "shape " + shape_text({c.shape, static_cast<std::size_t>(c.ndim)}));
  w.cache = {.data = static_cast<std::byte*>(c.ptr),
             .blocks = c.shape[0],
             .block_size = kSegmentedPage,
             .block_stride = c.strides[0],
             .head_stride = 0,
             .latent_start = 0,
             .latent_stride = w.kv_c.width,
             .rope_start = kSegmentedPage * w.kv_c.width,
             .rope_stride = w.k_pe.width};
  return std::nullopt;
}

MaybeFailure cache(const Options& o, const mla_rope_cache_tensors& t, cpu::RopeCacheWrite& w) {
  if (auto bad = target("kv_cache", t.kv_cache, t.q_nope->dtype, w.cache_fp8)) return bad;
  if (w.q_fp8 && !w.cache_fp8)
    return Failure{MLA_UNSUPPORTED, "q_out is fp8 and kv_cache is not: no kernel writes this pair",
                   "", ""};
  if (o.segmented == 0) return plain_cache(*t.kv_cache, w);
  if (!w.q_fp8) return bad_tensor("q_out", "dtype fp8 in the segmented layout", "another");
  if (!w.nope_first)
    return usage("is_nope_first is 0; the segmented layout has the latent part first");
  return segmented_cache(*t.kv_cache, w);
}

MaybeFailure lists(const mla_rope_cache_tensors& t, cpu::RopeCacheWrite& w) {
  if (auto bad = check_tensor(t.slot_mapping,
                              {.name = "slot_mapping", .dtypes = {MLA_DTYPE_I64}, .shape = {kAny}}))
    return bad;
  if (auto bad = check_tensor(t.positions,
                              {.name = "positions", .dtypes = {MLA_DTYPE_I64}, .shape = {kAny}}))
    return bad;
  if (t.positions->shape[0] < t.slot_mapping->shape[0])
    return bad_tensor("positions",
                      say("at least the ", t.slot_mapping->shape[0], " entries of slot_mapping"),
                      std::to_string(t.positions->shape[0]));
  w.slots = elements<const std::int64_t>(*t.slot_mapping);
  w.positions = elements<const std::int64_t>(*t.positions);
  return std::nullopt;
}

bool one_dense_head(const aiter_tensor_t& t) {
  return t.ndim == 3 && t.shape[1] == 1 && t.strides[1] == t.shape[2];
}

// Whether AITER's dispatch takes a kernel that cuts positions to the table: of its kernels the one
// for each head and the one for large decode steps do, the general, prefill and segmented ones read
// outside. The numbers are those of its dispatch.
bool clamps_positions(const Options& o, const mla_rope_cache_tensors& t,
                      const cpu::RopeCacheWrite& w) {
  const bool decode = (t.kv_c->ndim == 2 && t.k_pe->ndim == 2) ||
                      (one_dense_head(*t.kv_c) && one_dense_head(*t.k_pe));
  if (o.segmented != 0 || !decode || w.k_pe.width != 64) return false;
  const std::int64_t latent = w.kv_c.width;
  const bool for_each_head =
      w.nope_first && latent <= 512 && w.cache.block_size == 1 && std::ssize(w.slots) < 256;
  const bool large = latent == 512 && w.heads >= 4;  // 2048 elements of a token
  return for_each_head || large;
}

MaybeFailure rope_and_cache(const Options* o, const mla_rope_cache_tensors* t) {
  if (o == nullptr || t == nullptr) return usage("options or tensors is NULL");
  const auto arch = arch_of(o->arch);
  if (!arch) return failure_of(arch.error());
  if (auto bad = check_flags({{"is_neox", o->is_neox},
                              {"is_nope_first", o->is_nope_first},
                              {"compute_all_q_rope", o->compute_all_q_rope},
                              {"segmented", o->segmented}}))
    return bad;
  cpu::RopeCacheWrite write;
  write.variant = fp8_variant(*arch);
  write.table.neox = o->is_neox != 0;
  write.nope_first = o->is_nope_first != 0;
  write.all_queries = o->compute_all_q_rope != 0;
  if (auto bad = lists(*t, write)) return bad;
  if (auto bad = sources(*t, write)) return bad;
  if (auto bad = table(*t, write)) return bad;
  if (auto bad = queries(*o, *t, write)) return bad;
  if (auto bad = cache(*o, *t, write)) return bad;
  if (auto bad = read_scale("q_scale", t->q_scale, write.q_fp8, write.q_scale)) return bad;
  if (auto bad = read_scale("k_scale", t->k_scale, write.cache_fp8, write.k_scale)) return bad;
  write.clamps = clamps_positions(*o, *t, write);
  return failure_of_faults("the cache write", cpu::rope_and_cache(write));
}

}  // namespace
}  // namespace mla::c_api

extern "C" {

void mla_rope_cache_defaults(mla_rope_cache_options* options) {
  if (options != nullptr)
    *options = {.arch = MLA_GFX942,
                .is_neox = 1,
                .is_nope_first = 1,
                .compute_all_q_rope = 0,
                .segmented = 0};
}

int mla_rope_and_cache(const mla_rope_cache_options* options,
                       const mla_rope_cache_tensors* tensors) {
  return mla::c_api::at_border([&] { return mla::c_api::rope_and_cache(options, tensors); });
}
}

// Rotary embedding of new tokens, together with the write of their keys into a paged cache.
//
// For each token: the rope part of every query head and key head is rotated by the token's
// position, the query goes to q_out (latent part, then rope part, or the other way round), the key
// into the cache. Rotation is in f32; an fp8 element is the result times 1/scale, rounded to
// nearest even and saturating, with no rounding before it. A token with a negative slot is padding:
// nothing is written, or with `all_queries` its query only, at a position cut to the table. Source:
// AITER csrc/kernels/cache_kernels.cu, fused_qk_rope_concat_and_cache_mla and its segmented form.
// Units: elements. A slot outside the cache is a fault of the report, and the token is skipped. So
// is a position outside the table, unless `clamps`: AITER's decode kernels take the nearest one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/engine/backend.hpp"
#include "cpu_backend/calls/element.hpp"

namespace mla::cpu {

// [tokens, heads, width], the last extent dense.
struct RopeRows {
  const std::byte* data = nullptr;
  std::int64_t token_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t width = 0;
};

// cos and sin of each position, one for each pair: [positions, width / 2].
struct RopeTable {
  const std::byte* cos = nullptr;
  const std::byte* sin = nullptr;
  std::int64_t cos_stride = 0;
  std::int64_t sin_stride = 0;
  std::int64_t positions = 0;
  bool neox = true;  // pairs (i, i + width / 2); otherwise (2 i, 2 i + 1)
};

// Where the parts of a key lie: latent part at slot / block_size * block_stride + slot % block_size
// * latent_stride + head * head_stride + latent_start, the rope part likewise.
struct KeyPlaces {
  std::byte* data = nullptr;
  std::int64_t blocks = 0;
  std::int64_t block_size = 0;
  std::int64_t block_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t latent_start = 0;
  std::int64_t latent_stride = 0;
  std::int64_t rope_start = 0;
  std::int64_t rope_stride = 0;
};

struct RopeCacheWrite {
  SourceType type = SourceType::bf16;
  RopeRows q_nope, q_pe, kv_c, k_pe;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::span<const std::int64_t> slots, positions;  // one a token
  RopeTable table;
  bool nope_first = true;  // of q_out
  bool all_queries = false;
  bool clamps = false;  // a position outside the table is cut to it
  std::byte* q_out = nullptr;
  std::int64_t q_out_token_stride = 0;
  std::int64_t q_out_head_stride = 0;
  bool q_fp8 = false;  // otherwise q_out has the type of the source, and so has the cache
  bool cache_fp8 = false;
  KeyPlaces cache;
  Fp8Variant variant = Fp8Variant::e4m3fnuz;
  float q_scale = 1;
  float k_scale = 1;
};

std::vector<Fault> rope_and_cache(const RopeCacheWrite& write);

}  // namespace mla::cpu

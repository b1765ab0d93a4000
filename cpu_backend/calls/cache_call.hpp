// Calls that write new tokens into a paged cache, as AITER's Python makes them.
//
// A token's row is its latent part and then its rope part. Tokens with a negative slot are padding:
// nothing is written. fp8 is the element times 1/scale, computed in f32, rounded to nearest even,
// saturating. Source: AITER csrc/kernels/cache_kernels.cu, concat_and_cache_mla. Units: elements.
// A slot outside of the cache is a fault of the report, and its token is skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/engine/backend.hpp"
#include "cpu_backend/calls/element.hpp"

namespace mla::cpu {

// Rows of a tensor whose last dimension is dense.
struct SourceRows {
  const std::byte* data = nullptr;
  std::int64_t row_stride = 0;  // elements
  std::int64_t width = 0;
};

struct CacheWrite {
  SourceType type = SourceType::bf16;
  SourceRows latent, rope;
  std::span<const std::int64_t> slots;  // one a token

  std::byte* cache = nullptr;
  std::int64_t blocks = 0;
  std::int64_t block_size = 0;    // slots
  std::int64_t block_stride = 0;  // elements
  std::int64_t entry_stride = 0;
  bool fp8 = false;  // otherwise the cache has the type of the source
  Fp8Variant variant = Fp8Variant::e4m3fnuz;
  float scale = 1;
};

std::vector<Fault> concat_and_cache(const CacheWrite& write);

}  // namespace mla::cpu

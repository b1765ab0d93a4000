#include "cpu_backend/prefill/attend_blocks.hpp"

#include <algorithm>

#include "core/engine/prefill/capability.hpp"
#include "cpu_backend/data_path/data_path.hpp"

namespace mla::cpu {
namespace {

using prefill::kQkDim;
using prefill::kVDim;

typedef float Eight __attribute__((vector_size(32), may_alias, aligned(4)));

constexpr std::int64_t kColumns = 16;  // of a register block: two vectors

#define MLA_INLINE __attribute__((always_inline)) inline

MLA_INLINE void score_body(const float* q, const float* keys, float* scores) {
  for (std::int64_t c = 0; c < kTileKeys; c += kColumns) {
    Eight sum[kBlockRows][2] = {};
    for (std::int64_t d = 0; d < kQkDim; ++d) {
      const float* key = keys + d * kTileKeys + c;
      const Eight k0 = *reinterpret_cast<const Eight*>(key);
      const Eight k1 = *reinterpret_cast<const Eight*>(key + 8);
      for (std::int64_t r = 0; r < kBlockRows; ++r) {
        sum[r][0] += q[r * kQkDim + d] * k0;
        sum[r][1] += q[r * kQkDim + d] * k1;
      }
    }
    for (std::int64_t r = 0; r < kBlockRows; ++r) {
      *reinterpret_cast<Eight*>(scores + r * kTileKeys + c) = sum[r][0];
      *reinterpret_cast<Eight*>(scores + r * kTileKeys + c + 8) = sum[r][1];
    }
  }
}

// sums[kRows][kVDim] += over keys [first, last)
template <std::int64_t kRows>
MLA_INLINE void add_keys(const float* p, std::int64_t first, std::int64_t last, const float* values,
                         float* sums) {
  for (std::int64_t c = 0; c < kVDim && first < last; c += kColumns) {
    Eight sum[kRows][2];
    for (std::int64_t r = 0; r < kRows; ++r)
      for (std::int64_t v = 0; v < 2; ++v)
        sum[r][v] = *reinterpret_cast<const Eight*>(sums + r * kVDim + c + 8 * v);
    for (std::int64_t j = first; j < last; ++j) {
      const Eight v0 = *reinterpret_cast<const Eight*>(values + j * kVDim + c);
      const Eight v1 = *reinterpret_cast<const Eight*>(values + j * kVDim + c + 8);
      for (std::int64_t r = 0; r < kRows; ++r) {
        sum[r][0] += p[r * kTileKeys + j] * v0;
        sum[r][1] += p[r * kTileKeys + j] * v1;
      }
    }
    for (std::int64_t r = 0; r < kRows; ++r)
      for (std::int64_t v = 0; v < 2; ++v)
        *reinterpret_cast<Eight*>(sums + r * kVDim + c + 8 * v) = sum[r][v];
  }
}

MLA_INLINE void weigh_body(const float* p, const std::int64_t* seen, const float* values,
                           const float* keep, float* out) {
  alignas(64) float sums[kBlockRows * kVDim] = {};
  const std::int64_t all = *std::min_element(seen, seen + kBlockRows);
  add_keys<kBlockRows>(p, 0, all, values, sums);
  for (std::int64_t r = 0; r < kBlockRows; ++r)
    add_keys<1>(p + r * kTileKeys, all, seen[r], values, sums + r * kVDim);
  for (std::int64_t r = 0; r < kBlockRows; ++r)
    for (std::int64_t d = 0; d < kVDim; ++d)
      out[r * kVDim + d] = out[r * kVDim + d] * keep[r] + sums[r * kVDim + d];
}

void score_portable(const float* q, const float* keys, float* scores) {
  score_body(q, keys, scores);
}
void weigh_portable(const float* p, const std::int64_t* seen, const float* values,
                    const float* keep, float* out) {
  weigh_body(p, seen, values, keep, out);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void score_avx2(const float* q, const float* keys,
                                                    float* scores) {
  score_body(q, keys, scores);
}
__attribute__((target("avx2,fma"))) void weigh_avx2(const float* p, const std::int64_t* seen,
                                                    const float* values, const float* keep,
                                                    float* out) {
  weigh_body(p, seen, values, keep, out);
}
#endif

RowBlocks choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0)
    return {score_avx2, weigh_avx2};
#endif
  return portable_row_blocks();
}

}  // namespace

const RowBlocks& portable_row_blocks() {
  static constexpr RowBlocks blocks{score_portable, weigh_portable};
  return blocks;
}

const RowBlocks& row_blocks() {
  static const RowBlocks blocks = choose();
  return blocks;
}

}  // namespace mla::cpu

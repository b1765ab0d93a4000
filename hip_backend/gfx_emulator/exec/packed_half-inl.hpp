// Owns: multiply-adds of f16 pairs on hosts with AVX2 and F16C, four words (eight halves) at a
// time. Bit for bit what packed.cpp computes half by half. Included once for each host path, like
// lanes-inl.hpp.
#pragma once

#include "hip_backend/gfx_emulator/exec/half-inl.hpp"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define MLA_GFX_HALF_PAIRS
#include <immintrin.h>

namespace mla::gfx {
namespace {

// A packed source: the register itself, or a copy with halves chosen and negated.
struct HalfPairs {
  const u32* words;
  alignas(64) u32 copy[lanes];

  HalfPairs(Wave& w, const Inst& i, unsigned k) {
    const bool in_place = i.src[k] >= code::vgpr && !i.dpp;
    const unsigned low = (i.op_sel >> k & 1) * 16U, high = (i.op_sel_hi >> k & 1) * 16U;
    const u32 signs = (i.neg >> k & 1U) << 15 | (i.abs >> k & 1U) << 31;
    words = in_place ? w.reg(i.src[k]) : copy;
    if (!in_place) fetch(w, i, k, Kind::packed, copy);
    if (low == 0 && high == 16 && signs == 0) return;
    const u32* const from = words;
    MLA_GFX_LANES {
      copy[l] = ((from[l] >> low & 0xffff) | from[l] >> high << 16) ^ signs;
    }
    words = copy;
  }
  [[nodiscard]] __m256 at(unsigned l) const {
    return _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(words + l)));
  }
};

// Of two NaN the first one goes on; a compiler may exchange the operands of an intrinsic.
inline __m256 product_in_order(__m256 a, __m256 b) {
  __m256 out;
  __asm__("vmulps %2, %1, %0" : "=x"(out) : "x"(a), "x"(b));
  return out;
}
inline __m256 sum_in_order(__m256 a, __m256 b) {
  __m256 out;
  __asm__("vaddps %2, %1, %0" : "=x"(out) : "x"(a), "x"(b));
  return out;
}
// a * b + c rounded to odd, so that rounding again to half is right. The product is exact, and
// `lost` is what the sum has lost (Knuth's two-sum; the host rounds to nearest).
inline __m256 fused_to_odd(__m256 a, __m256 b, __m256 c) {
  const __m256 product = product_in_order(a, b), sum = sum_in_order(product, c);
  const __m256 part = _mm256_sub_ps(sum, product);
  const __m256 lost =
      _mm256_add_ps(_mm256_sub_ps(product, _mm256_sub_ps(sum, part)), _mm256_sub_ps(c, part));
  const __m256i inexact =
      _mm256_castps_si256(_mm256_cmp_ps(lost, _mm256_setzero_ps(), _CMP_NEQ_OQ));
  // Where signs differ the sum is too large: one bit pattern less.
  const __m256i differ = _mm256_srai_epi32(_mm256_castps_si256(_mm256_xor_ps(lost, sum)), 31);
  const __m256i truncated =
      _mm256_add_epi32(_mm256_castps_si256(sum), _mm256_and_si256(differ, inexact));
  return _mm256_castsi256_ps(_mm256_or_si256(truncated, _mm256_srli_epi32(inexact, 31)));
}

// value(l): the eight results from word `l` on, as f32.
template <class F>
inline void store_halves(Wave& w, const Inst& i, F value) {
  const bool whole = all_lanes(w);
  alignas(64) u32 out[lanes];
  u32* const to = w.reg(i.dst);
  u32* const first = whole ? to : out;
  for (unsigned l = 0; l < lanes; l += 4) {
    _mm_store_si128(reinterpret_cast<__m128i*>(first + l),
                    _mm256_cvtps_ph(value(l), _MM_FROUND_TO_NEAREST_INT));
  }
  if (whole) return;
  const u32* const mask = lane_mask(w);
  MLA_GFX_LANES {
    to[l] = (out[l] & mask[l]) | (to[l] & ~mask[l]);
  }
}

// v_pk_fma_f16; `other` where the results need more.
inline void fused_half_pairs(Wave& w, const Inst& i, Handler other) {
  if (i.clamp || i.dpp || limits_halves(w)) return other(w, i);
  keep_denormals(w);
  const HalfPairs a(w, i, 0), b(w, i, 1), c(w, i, 2);
  store_halves(w, i, [&](unsigned l) { return fused_to_odd(a.at(l), b.at(l), c.at(l)); });
}

}  // namespace
}  // namespace mla::gfx
#endif

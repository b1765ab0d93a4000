// Owns: multiply-adds of f16 pairs on hosts with AVX2 and F16C, or with AVX-512: the halves of
// fused_half() rounded to nearest, of several words at a time. Included once for each host path,
// like lanes-inl.hpp.
//
// A product of two halves is exact in f32; what has to be rounded is its sum with the third.
#pragma once

#include "hip_backend/gfx_emulator/exec/half-inl.hpp"

#if defined(__AVX2__) && defined(__F16C__)
#define MLA_GFX_HALF_PAIRS
#include <immintrin.h>

namespace mla::gfx {
namespace {

// Of two NaN the first one goes on; a compiler may exchange the operands of an intrinsic.
#define MLA_GFX_IN_ORDER(name, type, code)                 \
  inline type name(type a, type b) {                       \
    type out;                                              \
    __asm__(code ", %1, %0" : "=v"(out) : "v"(a), "v"(b)); \
    return out;                                            \
  }

#if defined(__AVX512DQ__)
MLA_GFX_IN_ORDER(product_in_order, __m512, "vmulps %2")
MLA_GFX_IN_ORDER(sum_down, __m512, "vaddps %{rd-sae%}, %2")
MLA_GFX_IN_ORDER(sum_up, __m512, "vaddps %{ru-sae%}, %2")

constexpr unsigned words_at_once = 8;

// The sum is rounded to odd, so that rounding it again to half is right: of the two numbers next to
// it, the one whose last bit is 1.
inline void fuse_words(const u32* a, const u32* b, const u32* c, u32* out) {
  const auto at = [](const u32* from) {
    return _mm512_cvtph_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(from)));
  };
  const __m512 product = product_in_order(at(a), at(b)), addend = at(c);
  const __m512i down = _mm512_castps_si512(sum_down(product, addend));
  const __m512i up = _mm512_castps_si512(sum_up(product, addend));
  constexpr int last_of_either = 0xa8;  // (down | up) & 1
  const __m512i last = _mm512_ternarylogic_epi32(down, up, _mm512_set1_epi32(1), last_of_either);
  // The one nearer to 0. A sum that is 0 of two signs is +0.
  const __m512i odd = _mm512_or_si512(_mm512_min_epu32(down, up), last);
  _mm256_store_si256(reinterpret_cast<__m256i*>(out),
                     _mm512_cvtps_ph(_mm512_castsi512_ps(odd), _MM_FROUND_TO_NEAREST_INT));
}
// Rows of a wave; `out` may be one of the others.
inline void fuse_pairs(const u32* a, const u32* b, const u32* c, u32* out) {
  for (unsigned l = 0; l < lanes; l += words_at_once) fuse_words(a + l, b + l, c + l, out + l);
}

#else
MLA_GFX_IN_ORDER(product_in_order, __m256, "vmulps %2")
MLA_GFX_IN_ORDER(sum_in_order, __m256, "vaddps %2")

constexpr unsigned words_at_once = 16;

inline __m256 halves_at(const u32* words) {
  return _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(words)));
}
inline __m128i rounded(__m256 value) {
  return _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT);
}

// a * b + c rounded to odd, so that rounding again to half is right. `lost` is what the sum has
// lost (Knuth's two-sum; the host rounds to nearest).
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
[[gnu::noinline]] void fuse_doubtful_words(const u32* a, const u32* b, const u32* c, u32* out) {
  for (unsigned l = 0; l < words_at_once; l += 4) {
    const __m256 odd = fused_to_odd(halves_at(a + l), halves_at(b + l), halves_at(c + l));
    _mm_store_si128(reinterpret_cast<__m128i*>(out + l), rounded(odd));
  }
}

// Whether sums, rounded to f32 and then to half, may not be the halves that they would be without
// the first rounding: that can only be where a sum lies in the middle between two halves. Of normal
// halves, its last 13 bits are 1 and zeros then; all below them but 0 are taken for such sums.
struct Doubt {
  __m256i least = _mm256_set1_epi32(-1);
  static __m256i both(u32 upper, u32 lower) {
    return _mm256_set1_epi32(static_cast<i32>(upper << 16 | lower));
  }
  void look(__m256 sum) {
    // Without what is above the last 13 bits, and without the sign. Sums but 0 are at least 2^-48.
    constexpr u32 middle = 0x8000, smallest = (127 - 48) << 8;
    const __m256i shifted = _mm256_mullo_epi16(_mm256_castps_si256(sum), both(1 << 1, 1 << 3));
    least = _mm256_min_epu16(least, _mm256_sub_epi16(shifted, both(smallest, middle)));
  }
  [[nodiscard]] bool any() const {
    constexpr u32 denormals = (48 - 14) << 8;  // from 2^-48 to 2^-14
    const __m256i past = _mm256_subs_epu16(least, both(denormals - 1, 0));
    return _mm256_movemask_epi8(_mm256_cmpeq_epi16(past, _mm256_setzero_si256())) != 0;
  }
};

// Whether that is done; nothing is written where it is not.
inline bool fuse_sure_words(const u32* a, const u32* b, const u32* c, u32* out) {
  Doubt doubt;
  __m128i halves[words_at_once / 4];
  for (unsigned k = 0; k < words_at_once / 4; ++k) {
    const __m256 product = product_in_order(halves_at(a + 4 * k), halves_at(b + 4 * k));
    const __m256 sum = sum_in_order(product, halves_at(c + 4 * k));
    doubt.look(sum);
    halves[k] = rounded(sum);
  }
  if (doubt.any()) return false;
  for (unsigned k = 0; k < words_at_once / 4; ++k)
    _mm_store_si128(reinterpret_cast<__m128i*>(out + 4 * k), halves[k]);
  return true;
}

// Rows of a wave; `out` may be one of the others. What follows doubtful words is taken for
// doubtful.
inline void fuse_pairs(const u32* a, const u32* b, const u32* c, u32* out) {
  bool sure = true;
  for (unsigned l = 0; l < lanes; l += words_at_once) {
    sure = sure && fuse_sure_words(a + l, b + l, c + l, out + l);
    if (!sure) fuse_doubtful_words(a + l, b + l, c + l, out + l);
  }
}
#endif
#undef MLA_GFX_IN_ORDER

}  // namespace
}  // namespace mla::gfx
#endif

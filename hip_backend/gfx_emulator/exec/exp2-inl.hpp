// Owns: 2^x of a wave on hosts with AVX2 and FMA, sixteen lanes at a time. Bit for bit what
// exp2_of() gives: a shorter polynomial, and exp2_of() itself where the two might round to
// different numbers. Included once for each host path, like lanes-inl.hpp.
#pragma once

#include "hip_backend/gfx_emulator/exec/float-inl.hpp"

#if defined(__AVX2__) && defined(__FMA__)
#define MLA_GFX_EXP2
#include <immintrin.h>

namespace mla::gfx {
namespace {

// 2^f for |f| <= 1/2: the minimax polynomial of degree 8, relative error below 2^-40. Four at once,
// since each step waits for the one before.
struct Powers {
  __m256d f[4], sum[4];

  explicit Powers(const __m256 (&halves)[2]) {
    for (unsigned k = 0; k < 4; ++k) {
      const __m128 four = k % 2 == 0 ? _mm256_castps256_ps128(halves[k / 2])
                                     : _mm256_extractf128_ps(halves[k / 2], 1);
      f[k] = _mm256_cvtps_pd(four);
      sum[k] = _mm256_set1_pd(0x1.63d136366db24p-20);
    }
    for (const double c :
         {0x1.00dc4a532fb8ep-16, 0x1.4308ac85aa947p-13, 0x1.5d8745a728441p-10, 0x1.3b2ab7181b755p-7,
          0x1.c6b08dd6fd234p-5, 0x1.ebfbdff823cedp-3, 0x1.62e42fef84cf0p-1, 1.0}) {
      for (unsigned k = 0; k < 4; ++k) sum[k] = _mm256_fmadd_pd(sum[k], f[k], _mm256_set1_pd(c));
    }
  }
};

// By how much the results of eight lanes, in [2^-1/2, 2^1/2], are above the middle between two f32
// less 2^-37, in the upper 29 bits of a word: the last 29 bits of a double say it.
inline __m256i above_the_middle(__m256d low, __m256d high) {
  const __m256 last = _mm256_shuffle_ps(_mm256_castpd_ps(low), _mm256_castpd_ps(high), 0x88);
  return _mm256_sub_epi32(_mm256_slli_epi32(_mm256_castps_si256(last), 3),
                          _mm256_set1_epi32((1U << 31) - (1U << 19)));
}
// Less is within 2^-37 of the middle. The errors of both polynomials together (2^-40 here, 2^-46 of
// exp2_of()) are smaller: with more, both round to one number.
constexpr u32 far_enough = 1U << 20;

inline __m256 eight_at(const u32* words) {
  return _mm256_load_ps(reinterpret_cast<const float*>(words));
}

// NaN, and what lies past the numbers, set right: denormal results are 0.
inline __m256 with_special(__m256 a, __m256 out) {
  out = _mm256_and_ps(out, _mm256_cmp_ps(a, _mm256_set1_ps(-126), _CMP_NLT_UQ));
  out = _mm256_blendv_ps(out, _mm256_castsi256_ps(_mm256_set1_epi32(0x7f800000)),
                         _mm256_cmp_ps(a, _mm256_set1_ps(128), _CMP_GE_OQ));
  return _mm256_blendv_ps(out, _mm256_add_ps(a, a), _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}

// 2^a of sixteen lanes. With `special`, a may be anything; else |a| is at most 126. `least`
// collects above_the_middle().
template <bool special>
inline void short_exp2(const u32* a, u32* out, __m256i& least) {
  const __m256 shifter = _mm256_set1_ps(0x1.8p23F);  // adding it rounds to an integer
  __m256 shifted[2], f[2];
  for (unsigned k = 0; k < 2; ++k) {
    __m256 limited = eight_at(a + 8 * k);
    if constexpr (special)  // NaN becomes -160 here
      limited = _mm256_min_ps(_mm256_max_ps(limited, _mm256_set1_ps(-160)), _mm256_set1_ps(160));
    shifted[k] = _mm256_add_ps(limited, shifter);
    f[k] = _mm256_sub_ps(limited, _mm256_sub_ps(shifted[k], shifter));
  }
  const Powers powers(f);
  for (unsigned k = 0; k < 2; ++k) {
    const __m256d low = powers.sum[2 * k], high = powers.sum[2 * k + 1];
    least = _mm256_min_epu32(least, above_the_middle(low, high));
    const __m256 power = _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
    const __m256i exponent = _mm256_slli_epi32(_mm256_castps_si256(shifted[k]), 23);
    __m256 value = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(power), exponent));
    if constexpr (special) value = with_special(eight_at(a + 8 * k), value);
    _mm256_store_ps(reinterpret_cast<float*>(out + 8 * k), value);
  }
}

template <bool special>
inline bool short_exp2_of_all(const u32* a, u32* out) {
  __m256i least = _mm256_set1_epi32(-1);
  for (unsigned l = 0; l < lanes; l += 16) short_exp2<special>(a + l, out + l, least);
  const __m256i bound = _mm256_set1_epi32(far_enough);
  return _mm256_movemask_epi8(_mm256_cmpeq_epi32(_mm256_max_epu32(least, bound), least)) == -1;
}

// True: `out` has 2^a of every lane. False: somewhere the two polynomials might differ.
inline bool short_exp2_of_lanes(const u32* a, u32* out) {
  __m256i most = _mm256_setzero_si256();  // bits of the largest magnitudes; NaN are larger still
  for (unsigned l = 0; l < lanes; l += 8) {
    const __m256 magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0F), eight_at(a + l));
    most = _mm256_max_epi32(most, _mm256_castps_si256(magnitude));
  }
  const __m256i bound = _mm256_castps_si256(_mm256_set1_ps(126));
  const bool special = _mm256_movemask_epi8(_mm256_cmpgt_epi32(most, bound)) != 0;
  return special ? short_exp2_of_all<true>(a, out) : short_exp2_of_all<false>(a, out);
}

}  // namespace
}  // namespace mla::gfx
#endif

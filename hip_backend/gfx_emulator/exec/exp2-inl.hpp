// Owns: 2^x of f32: exp2_of() says what the result is, and short_exp2_of_lanes() gives the same
// bits on hosts with AVX2 and FMA or AVX-512, eight or sixteen lanes at a time. Included once for
// each host path, like lanes-inl.hpp.
#pragma once

#include "hip_backend/gfx_emulator/exec/float-inl.hpp"

#if defined(__AVX2__) && defined(__FMA__)
#define MLA_GFX_EXP2
#include <immintrin.h>
#endif

namespace mla::gfx {
namespace {

// 2^f for |f| <= 1/2 in f64: the series of exp(f ln 2) to the tenth power, error below 1e-14.
inline double power_of_two(double f) {
  const double x = f * 0.693147180559945309417;
  double sum = 1.0 / 3628800;
  sum = sum * x + 1.0 / 362880;
  sum = sum * x + 1.0 / 40320;
  sum = sum * x + 1.0 / 5040;
  sum = sum * x + 1.0 / 720;
  sum = sum * x + 1.0 / 120;
  sum = sum * x + 1.0 / 24;
  sum = sum * x + 1.0 / 6;
  sum = sum * x + 0.5;
  sum = sum * x + 1;
  return sum * x + 1;
}

inline float exp2_of(float source) {
  const float a = flushed(source);
  const float limited = a < -160 ? -160.0F : a > 160 ? 160.0F : a;
  constexpr float shifter = 0x1.8p23F;  // adding it rounds to an integer
  const float whole = (limited + shifter) - shifter;
  const i64 scale = (static_cast<i64>(bits_of(whole + shifter)) - bits_of(shifter) + 1023) << 52;
  const double value = power_of_two(static_cast<double>(limited) - static_cast<double>(whole)) *
                       std::bit_cast<double>(scale);
  const float out = value < 0x1p-126 ? 0.0F : static_cast<float>(value);
  return is_nan(a) ? a + a : out;
}

#if defined(MLA_GFX_EXP2)
// 2^x = 2^n * t[k] * 2^r, where x = n + k/16 + x[k] + r exactly, and |r| < 2^-5 + 2^-9. The x[k]
// are such that 2^(k/16 + x[k]) is within 2^-41 of an f32, t[k].
// clang-format off
alignas(64) constexpr float exp2_x[16] = {
    0, 0x1.86aep-12F, 0x1.a8b98p-10F, -0x1.461p-13F,
    -0x1.25dp-12F, 0x1.8ee68p-10F, 0x1.32dcp-10F, 0x1.bae08p-10F,
    -0x1.4f35p-10F, 0x1.e92ap-11F, 0x1.0c878p-10F, -0x1.83c78p-10F,
    0x1.eb1fp-11F, -0x1.277bp-10F, -0x1.efda8p-10F, -0x1.088p-11F};
alignas(64) constexpr float exp2_t[16] = {
    1, 0x1.0b6734p0F, 0x1.177bd2p0F, 0x1.237f9cp0F,
    0x1.3060bep0F, 0x1.3e4048p0F, 0x1.4c42aap0F, 0x1.5b187cp0F,
    0x1.69b7cap0F, 0x1.7a4fe4p0F, 0x1.8b161ep0F, 0x1.9bdceep0F,
    0x1.aed19p0F, 0x1.c13fdap0F, 0x1.d4e412p0F, 0x1.ea1f18p0F};
// clang-format on

#if defined(__AVX512DQ__)
using Vector = __m512;
inline Vector all(float value) {
  return _mm512_set1_ps(value);
}
inline Vector at(const float* from) {
  return _mm512_load_ps(from);
}
inline Vector fused(Vector a, Vector b, Vector c) {
  return _mm512_fmadd_ps(a, b, c);
}
inline Vector pick(const float* table, Vector last_bits) {
  return _mm512_permutexvar_ps(_mm512_castps_si512(last_bits), at(table));
}
#else
using Vector = __m256;
inline Vector all(float value) {
  return _mm256_set1_ps(value);
}
inline Vector at(const float* from) {
  return _mm256_load_ps(from);
}
inline Vector fused(Vector a, Vector b, Vector c) {
  return _mm256_fmadd_ps(a, b, c);
}
inline Vector pick(const float* table, Vector last_bits) {
  const __m256i bits = _mm256_castps_si256(last_bits);
  return _mm256_blendv_ps(_mm256_permutevar8x32_ps(at(table), bits),
                          _mm256_permutevar8x32_ps(at(table + 8), bits),
                          _mm256_castsi256_ps(_mm256_slli_epi32(bits, 28)));
}
#endif
constexpr unsigned in_vector = sizeof(Vector) / sizeof(float);

// Two vectors that take turns, since each step waits for the one before.
struct Floats {
  Vector of[2];
  explicit Floats(float value) : Floats{all(value), all(value)} {}
  Floats(Vector a, Vector b) : of{a, b} {}
};
inline Floats operator+(const Floats& a, const Floats& b) {
  return {a.of[0] + b.of[0], a.of[1] + b.of[1]};
}
inline Floats operator-(const Floats& a, const Floats& b) {
  return {a.of[0] - b.of[0], a.of[1] - b.of[1]};
}
inline Floats operator*(const Floats& a, const Floats& b) {
  return {a.of[0] * b.of[0], a.of[1] * b.of[1]};
}
inline Floats operator-(const Floats& a) {
  return {-a.of[0], -a.of[1]};
}
inline Floats fused(const Floats& a, const Floats& b, const Floats& c) {
  return {fused(a.of[0], b.of[0], c.of[0]), fused(a.of[1], b.of[1], c.of[1])};
}
inline Floats pick(const float* table, const Floats& last_bits) {
  return {pick(table, last_bits.of[0]), pick(table, last_bits.of[1])};
}

// Bounds of t[k] * 2^r, rounded to f32: where they are one number exp2_of() has that number. NaN
// stay. `sixteenths` ends with k.
struct Exp2Bounds {
  Floats most, least;
};
inline Exp2Bounds exp2_bounds(const Floats& sixteenths, const Floats& from_sixteenths) {
  const Floats t = pick(exp2_t, sixteenths), r = from_sixteenths - pick(exp2_x, sixteenths);
  // 2^r - 1 = first + rest, in which ln 2 has two parts.
  const Floats ln2(0x1.62e43p-1F), first = r * ln2;
  Floats rest(0x1.3b2a46p-7F);
  for (const float c : {0x1.c6b338p-5F, 0x1.ebfbep-3F, -0x1.05c61p-29F})
    rest = fused(rest, r, Floats(c));
  rest = fused(rest, r, fused(r, ln2, -first));
  const Floats high = fused(t, first, t), lost = fused(t, first, t - high);  // exact
  const Floats low = fused(t, rest, lost);
  // More than what the two polynomials and the roundings are apart: a nightly test has every f32,
  // and finds one wrong result with 0x1p-34.
  const Floats error(0x1.8p-34F);
  return {high + (low + error), high + (low - error)};
}

// A bit for each lane whose result is not that of exp2_of() for certain.
inline u32 short_exp2(const float* from, float* to) {
  const Floats shifter(0x1.8p19F);  // adding it rounds to sixteenths: k is in the last four bits
  u32 doubtful = 0;
#if defined(__AVX512DQ__)
  constexpr int to_sixteenths = 0x40;
  const Floats a{at(from), at(from + in_vector)}, shifted = a + shifter,
                                                  sixteenths = shifted - shifter;
  const auto [most, least] = exp2_bounds(shifted, {_mm512_reduce_ps(a.of[0], to_sixteenths),
                                                   _mm512_reduce_ps(a.of[1], to_sixteenths)});
  for (unsigned k = 0; k < 2; ++k) {
    const __mmask16 normal = _mm512_cmp_ps_mask(a.of[k], all(-126), _CMP_NLT_UQ);
    _mm512_store_ps(to + k * in_vector,
                    _mm512_maskz_scalef_ps(normal, most.of[k], sixteenths.of[k]));
    doubtful |= u32{_mm512_cmp_ps_mask(most.of[k], least.of[k], _CMP_NEQ_OQ)} << k * in_vector;
  }
#else
  // What lies past the numbers becomes 2^128, infinite, or 2^-127, whose bits are 0. NaN stay.
  const auto limited = [](Vector a) {
    return _mm256_blendv_ps(_mm256_min_ps(all(128), a), all(-127),
                            _mm256_cmp_ps(a, all(-126), _CMP_LT_OQ));
  };
  const Floats x{limited(at(from)), limited(at(from + in_vector))}, shifted = x + shifter;
  const auto [most, least] = exp2_bounds(shifted, x - (shifted - shifter));
  for (unsigned k = 0; k < 2; ++k) {
    const __m256i whole = _mm256_castps_si256(shifted.of[k]) & _mm256_set1_epi32(-16);
    const __m256i out =
        _mm256_add_epi32(_mm256_castps_si256(most.of[k]), _mm256_slli_epi32(whole, 19));
    _mm256_store_ps(to + k * in_vector, _mm256_castsi256_ps(out));
    const Vector differ = _mm256_cmp_ps(most.of[k], least.of[k], _CMP_NEQ_UQ);  // and NaN
    doubtful |= static_cast<u32>(_mm256_movemask_ps(differ)) << k * in_vector;
  }
#endif
  return doubtful;
}

inline void short_exp2_of_lanes(const u32* from, u32* to) {
  u64 doubtful = 0;
  for (unsigned l = 0; l < lanes; l += 2 * in_vector) {
    doubtful |=
        u64{short_exp2(reinterpret_cast<const float*>(from + l), reinterpret_cast<float*>(to + l))}
        << l;
  }
  for (; doubtful != 0; doubtful &= doubtful - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(doubtful));
    to[l] = bits_of(exp2_of(float_of(from[l])));
  }
}
#endif

}  // namespace
}  // namespace mla::gfx

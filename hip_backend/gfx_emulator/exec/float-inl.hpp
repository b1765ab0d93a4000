// Owns: the numeric helpers of the vector families: f16 conversions, and the minimum and maximum
// of the hardware. Included once for each host path, like lanes-inl.hpp.
#pragma once

#include <bit>
#include <cmath>

#include "hip_backend/gfx_emulator/exec/lanes-inl.hpp"

namespace mla::gfx {

// One, where the compiler cannot see it: a product with it is canonical (quiet, flushed by mode).
extern float opaque_one;

namespace {

inline u32 bits_of(float value) {
  return std::bit_cast<u32>(value);
}
inline float float_of(u32 bits) {
  return std::bit_cast<float>(bits);
}
inline bool is_nan(float value) {
  return (bits_of(value) & 0x7fffffff) > 0x7f800000;
}
// 0 of the same sign in place of a denormal.
inline float flushed(float a) {
  return (bits_of(a) & 0x7f800000) == 0 ? float_of(bits_of(a) & 0x80000000) : a;
}

inline float to_float(Half half) {
  const u32 sign = (half.bits & 0x8000U) << 16, magnitude = half.bits & 0x7fffU;
  const u32 normal = (magnitude << 13) + (112U << 23);
  const u32 special = (magnitude << 13) | 0x7f800000U;
  const u32 tiny = bits_of(static_cast<float>(static_cast<i32>(magnitude)) * 0x1p-24F);
  const u32 value = magnitude >= 0x7c00 ? special : magnitude >= 0x0400 ? normal : tiny;
  return float_of(value | sign);
}

// Rounds a magnitude with 23 fraction bits, given as bits of a float, to half: nearest even.
inline Half to_half(float value) {
  const u32 bits = bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  const u32 even = magnitude >> 13 & 1;
  const u32 normal = (magnitude + 0xfff + even - (112U << 23)) >> 13;
  // Below 2^-14: shift the significand with its hidden bit, sticky bits included.
  const u32 exponent = magnitude >> 23;
  const u32 shift = exponent < 101 ? 25 : 126 - exponent;
  const u32 significand = (magnitude & 0x7fffff) | 0x800000;
  const u32 kept = significand >> (shift & 31), lost = significand & ((1U << (shift & 31)) - 1);
  const u32 half_way = 1U << ((shift - 1) & 31);
  const u32 tiny = kept + (lost > half_way || (lost == half_way && (kept & 1) != 0) ? 1 : 0);
  const u32 special = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x3ff) : 0x7c00;
  const u32 out = magnitude >= 0x47800000   ? special
                  : magnitude >= 0x38800000 ? normal
                  : exponent < 101          ? 0
                                            : tiny;
  return Half{static_cast<u16>(out | sign)};
}

// Towards zero: what is too large becomes the largest number.
inline Half to_half_truncated(float value) {
  const u32 bits = bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  const u32 exponent = magnitude >> 23;
  const u32 significand = (magnitude & 0x7fffff) | 0x800000;
  const u32 tiny = exponent < 102 ? 0 : significand >> ((126 - exponent) & 31);
  const u32 normal = (magnitude - (112U << 23)) >> 13;
  const u32 special = magnitude > 0x7f800000    ? 0x7e00 | (magnitude >> 13 & 0x3ff)
                      : magnitude == 0x7f800000 ? 0x7c00
                                                : 0x7bff;
  const u32 out = magnitude >= 0x47800000 ? special : magnitude >= 0x38800000 ? normal : tiny;
  return Half{static_cast<u16>(out | sign)};
}

// Rounds a double to odd in f32, so that rounding again to half is right.
inline float to_odd(double value) {
  float out = static_cast<float>(value);
  u32 bits = bits_of(out);
  const double back = out;
  if (back != value && !is_nan(out)) {
    if (std::abs(back) > std::abs(value)) --bits;
    bits |= 1;
  }
  return float_of(bits);
}

// A NaN loses against a number; -0 is below +0.
inline float minimum(float a, float b) {
  const bool take_a = a < b || is_nan(b) || (a == b && (bits_of(a) >> 31) != 0);
  return (take_a ? a : b) * opaque_one;
}
inline float maximum(float a, float b) {
  const bool take_a = a > b || is_nan(b) || (a == b && (bits_of(b) >> 31) != 0);
  return (take_a ? a : b) * opaque_one;
}
inline float median(float a, float b, float c) {
  if (is_nan(a) || is_nan(b) || is_nan(c)) return minimum(minimum(a, b), c);
  return maximum(minimum(a, b), minimum(maximum(a, b), c));
}

inline float bf16_to_float(u32 bits) {
  return float_of(bits << 16);
}
inline u32 to_bf16(float value) {
  const u32 bits = bits_of(value);
  const u32 rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return is_nan(value) ? (bits >> 16 | 0x40) : rounded;
}

// Conversion to integers saturates, NaN becomes zero.
template <class To, class From>
inline To to_integer(From value) {
  constexpr From low = static_cast<From>(std::is_signed_v<To> ? -0x1p31 : 0.0);
  constexpr From high = static_cast<From>(std::is_signed_v<To> ? 0x1p31 : 0x1p32);
  if (!(value > low))
    return value <= low ? std::is_signed_v<To> ? static_cast<To>(1U << 31) : To{0} : To{0};
  if (value >= high)
    return std::is_signed_v<To> ? static_cast<To>(0x7fffffff) : static_cast<To>(~0U);
  return static_cast<To>(static_cast<i64>(value));
}

}  // namespace
}  // namespace mla::gfx

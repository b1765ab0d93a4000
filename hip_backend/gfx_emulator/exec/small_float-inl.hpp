// Owns: the floats of four and six bits, which have neither infinities nor NaN: fp4 (e2m1), fp6
// (e2m3) and bf6 (e3m2). Included once for each host path, like lanes-inl.hpp.
#pragma once

#include "hip_backend/gfx_emulator/exec/fp8-inl.hpp"

namespace mla::gfx {
namespace {

enum class Small : u8 { fp4, fp6, bf6 };

struct SmallFormat {
  unsigned size;  // in bits
  int fraction_bits, bias;
};

constexpr SmallFormat format_of(Small kind) {
  switch (kind) {
    case Small::fp4:
      return {4, 1, 1};
    case Small::fp6:
      return {6, 3, 1};
    default:
      return {6, 2, 3};
  }
}

// Multiplies the bits as an f32 by a power of two: the host must keep denormals.
inline float decode_small(u32 bits, const SmallFormat& f) {
  const u32 magnitude = bits & ((1U << (f.size - 1)) - 1);
  const float sign = (bits >> (f.size - 1) & 1) != 0 ? -1.0F : 1.0F;
  return sign * float_of(magnitude << (23 - f.fraction_bits)) *
         float_of(static_cast<u32>(254 - f.bias) << 23);
}

// Saturates. What becomes of a NaN is assumption FP8_RANGE.
template <Small kind>
inline u32 encode_small(float value, bool stochastic, u32 random) {
  constexpr SmallFormat f = format_of(kind);
  constexpr u32 largest = (1U << (f.size - 1)) - 1;
  const u32 magnitude = bits_of(value) & 0x7fffffff, sign = bits_of(value) >> 31 << (f.size - 1);
  if (magnitude > 0x7f800000) return largest;
  if (magnitude == 0x7f800000) return sign | largest;
  const u64 out = rounded_code(magnitude, f.fraction_bits, f.bias, stochastic, random);
  return sign | (out > largest ? largest : static_cast<u32>(out));
}

}  // namespace
}  // namespace mla::gfx

// Element types of device code: bf16 and fp8 as bits, and the conversions between them and f32.
//
// bf16 to f32 is a shift; the three roundings back are those of core/numeric/bf16.hpp. fp8 goes
// through the conversion instructions on AMD: they read and write e4m3fnuz on gfx942 and e4m3fn on
// gfx950. NVIDIA has no e4m3fnuz, so there both variants are made of f32 arithmetic, told apart by
// `Fp8Code`; every fp8 value is also a bf16, so nothing is lost.
#pragma once

#include "hip_backend/kernels/arguments.hpp"
#include "hip_backend/kernels/gpu.hpp"

namespace mla::hip {

struct Bf16 {
  u16 bits;
};
struct Fp8 {
  u8 bits;
};
template <class E>
constexpr int kElementBytes = static_cast<int>(sizeof(E));

MLA_DEVICE u16 bf16_of(float value, int rounding) {
  const u32 bits = bits_as<u32>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<u16>((bits >> 16U) | 0x0040U);
  u32 carry = 0;
  if (rounding == kRoundEven) carry = 0x7FFFU + ((bits >> 16U) & 1U);
  if (rounding == kRoundAway) carry = 0x8000U;
  return static_cast<u16>((bits + carry) >> 16U);
}

// Two probabilities, neither infinite, as bf16 in one word.
MLA_DEVICE u32 bf16_pair(float low, float high) {
  return bf16_of(low, kRoundEven) | static_cast<u32>(bf16_of(high, kRoundEven)) << 16U;
}
// Two values that are bf16 already.
MLA_DEVICE u32 exact_pair(float low, float high) {
  return bits_as<u32>(low) >> 16U | (bits_as<u32>(high) & 0xFFFF0000U);
}

// The fp8 variant of a launch, as NVIDIA needs it.
struct Fp8Code {
  float factor;  // 2^120 (e4m3fn) or 2^119 (e4m3fnuz): value = f32 with the same fields * factor
  int nan;       // e4m3fn: 0x7F of the bits without sign; e4m3fnuz: 0x80 of all bits
};

#if MLA_AMD
using FloatPair = __attribute__((ext_vector_type(2))) float;

// Four fp8 in a word to four bf16 in two words.
MLA_DEVICE Bytes8 bf16_of_fp8(u32 four, Fp8Code) {
  const FloatPair low = __builtin_amdgcn_cvt_pk_f32_fp8(static_cast<int>(four), false);
  const FloatPair high = __builtin_amdgcn_cvt_pk_f32_fp8(static_cast<int>(four), true);
  return {{exact_pair(low.x, low.y), exact_pair(high.x, high.y)}};
}
MLA_DEVICE u16 fp8_pair(float low, float high) {
  return static_cast<u16>(__builtin_amdgcn_cvt_pk_fp8_f32(low, high, 0, false));
}
#else
MLA_DEVICE float float_of_fp8(u32 bits, Fp8Code code) {
  const float magnitude = bits_as<float>((bits & 0x7FU) << 20U) * code.factor;
  const bool nan = code.nan == 0x80 ? bits == 0x80U : (bits & 0x7FU) == 0x7FU;
  const u32 sign = (bits & 0x80U) << 24U;
  return nan ? bits_as<float>(0x7FC00000U) : bits_as<float>(bits_as<u32>(magnitude) | sign);
}
MLA_DEVICE Bytes8 bf16_of_fp8(u32 four, Fp8Code code) {
  return {{exact_pair(float_of_fp8(four & 0xFFU, code), float_of_fp8(four >> 8U & 0xFFU, code)),
           exact_pair(float_of_fp8(four >> 16U & 0xFFU, code), float_of_fp8(four >> 24U, code))}};
}
// A probability in [0, 1] rounded to fp8, to nearest even; NaN stays.
MLA_DEVICE float round_to_fp8(float p, Fp8Code code) {
  // e4m3fn: normal from 2^-6, steps of 2^-9 below; e4m3fnuz: half of both.
  const bool fnuz = code.nan == 0x80;
  const float smallest_normal = fnuz ? 0x1p-7F : 0x1p-6F;
  const float magic = fnuz ? 0x1.8p13F : 0x1.8p14F;  // the f32 here are steps of 2^-10, 2^-9
  const u32 bits = bits_as<u32>(p);
  const float normal = bits_as<float>((bits + 0x7FFFFU + ((bits >> 20U) & 1U)) & ~0xFFFFFU);
  const float subnormal = __fsub_rn(__fadd_rn(p, magic), magic);
  return p != p ? p : (p < smallest_normal ? subnormal : normal);
}
#endif

// Two bf16 or four fp8 in a word, with zeros in place of infinities and NaN. (The fp8 operands of a
// matrix unit are e4m3fn on gfx950 and e4m3fnuz on gfx942.)
template <class M>
MLA_DEVICE u32 finite_part(u32 word) {
  if constexpr (sizeof(M) == 2) {
    if ((word & 0x7F80U) == 0x7F80U) word &= 0xFFFF0000U;
    if ((word & 0x7F800000U) == 0x7F800000U) word &= 0x0000FFFFU;
  } else {
#if defined(__gfx950__)
    constexpr u32 kMask = 0x7FU;
    constexpr u32 kNan = 0x7FU;
#else
    constexpr u32 kMask = 0xFFU;
    constexpr u32 kNan = 0x80U;
#endif
    for (u32 shift = 0; shift < 32; shift += 8)
      if ((word >> shift & kMask) == kNan) word &= ~(0xFFU << shift);
  }
  return word;
}

MLA_DEVICE float float_of_bf16(u16 bits) {
  return bits_as<float>(static_cast<u32>(bits) << 16U);
}

// The element if it is NaN or infinite; otherwise 0.
template <class M>
MLA_DEVICE float infinite_element(const char* element) {
  if constexpr (sizeof(M) == 2) {
    const u16 bits = *reinterpret_cast<const u16*>(element);
    return finite_part<M>(bits) == bits ? 0.0F : float_of_bf16(bits);
  } else {
    const u32 bits = *reinterpret_cast<const unsigned char*>(element);
    return finite_part<M>(bits) == bits ? 0.0F : bits_as<float>(0x7FC00000U);
  }
}

// Sixteen bytes of elements E to bf16 in LDS.
template <class E>
MLA_DEVICE void store_as_bf16(char* to, const Bytes16& bits, Fp8Code code) {
  if constexpr (sizeof(E) == 2) {
    *reinterpret_cast<Bytes16*>(to) = bits;
  } else {
    const Bytes8 a = bf16_of_fp8(bits.w[0], code);
    const Bytes8 b = bf16_of_fp8(bits.w[1], code);
    const Bytes8 c = bf16_of_fp8(bits.w[2], code);
    const Bytes8 d = bf16_of_fp8(bits.w[3], code);
    reinterpret_cast<Bytes16*>(to)[0] = {{a.w[0], a.w[1], b.w[0], b.w[1]}};
    reinterpret_cast<Bytes16*>(to)[1] = {{c.w[0], c.w[1], d.w[0], d.w[1]}};
  }
}

}  // namespace mla::hip

// fp8 e4m3 in the two variants of the architectures, as bits.
//
// e4m3fn (OCP 8-bit floating point specification 1.0): bias 7, NaN at S.1111.111, largest 448.
// e4m3fnuz (gfx942): bias 8, no negative zero, NaN only at 0x80, largest 240.
// Rounding is to nearest even; values beyond the largest finite one saturate, as the engines' casts
// do.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "core/arch.hpp"

namespace mla {

float fp8_to_float(std::uint8_t bits, Fp8Variant variant);

// The 256 values of a variant.
const std::array<float, 256>& fp8_values(Fp8Variant variant);

constexpr int fp8_bias(Fp8Variant variant) {
  return variant == Fp8Variant::e4m3fnuz ? 8 : 7;
}
constexpr float fp8_max(Fp8Variant variant) {
  return variant == Fp8Variant::e4m3fnuz ? 240.0F : 448.0F;
}
constexpr std::uint8_t fp8_nan(Fp8Variant variant) {
  return variant == Fp8Variant::e4m3fnuz ? 0x80 : 0x7F;
}
// Without branches, so that a loop over it runs in vectors: a conditional expression would become
// one where the compiler may not add floats ahead of a condition.
constexpr std::uint32_t pick(bool condition, std::uint32_t yes, std::uint32_t no) {
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(condition);
  return (yes & mask) | (no & ~mask);
}
// Without branches, so that a loop over it runs in vectors.
constexpr std::uint8_t fp8_from_float(float value, Fp8Variant variant) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  const auto biased = static_cast<std::uint32_t>(128 - fp8_bias(variant));  // smallest normal's
  // Keep 3 of 23 mantissa bits, ties to even; a carry moves to the next binade by itself.
  const std::uint32_t normal =
      ((magnitude + 0x7FFFFU + ((magnitude >> 20U) & 1U)) >> 20U) - ((biased - 1) << 3U);
  // A subnormal is a multiple of 2^(1 - bias - 3). Added to 2^23 times that, whose last place it
  // is, the sum rounds to nearest even and ends in the code.
  const float anchor = std::bit_cast<float>((biased + 20) << 23U);
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + anchor) & 0xFFU;
  const bool fnuz = variant == Fp8Variant::e4m3fnuz;
  const auto largest = std::bit_cast<std::uint32_t>(fp8_max(variant));
  const std::uint32_t code = pick(magnitude >= largest, fnuz ? 0x7FU : 0x7EU,
                                  pick(magnitude >= biased << 23U, normal, subnormal));
  const std::uint32_t sign = pick(fnuz && code == 0, 0U, (bits >> 31U) << 7U);  // no negative zero
  return static_cast<std::uint8_t>(pick(magnitude > 0x7F800000U, fp8_nan(variant), sign | code));
}

// Largest relative error for a normal number (4 significant bits), and largest absolute error
// below.
inline constexpr double kFp8UnitRoundoff = 0x1p-4;
constexpr double fp8_half_smallest(Fp8Variant variant) {
  return variant == Fp8Variant::e4m3fnuz ? 0x1p-11 : 0x1p-10;
}

}  // namespace mla

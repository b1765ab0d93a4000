// fp8 e4m3 in the two variants of the architectures, as bits.
//
// e4m3fn (OCP 8-bit floating point specification 1.0): bias 7, NaN at S.1111.111, largest 448.
// e4m3fnuz (gfx942): bias 8, no negative zero, NaN only at 0x80, largest 240.
// Rounding is to nearest even; values beyond the largest finite one saturate, as the engines' casts
// do.
#pragma once

#include <array>
#include <cstdint>

#include "core/arch.hpp"

namespace mla {

float fp8_to_float(std::uint8_t bits, Fp8Variant variant);
std::uint8_t fp8_from_float(float value, Fp8Variant variant);

// The 256 values of a variant.
const std::array<float, 256>& fp8_values(Fp8Variant variant);

constexpr float fp8_max(Fp8Variant variant) {
  return variant == Fp8Variant::e4m3fnuz ? 240.0F : 448.0F;
}
constexpr std::uint8_t fp8_nan(Fp8Variant variant) {
  return variant == Fp8Variant::e4m3fnuz ? 0x80 : 0x7F;
}
// Largest relative error for a normal number (4 significant bits), and largest absolute error
// below.
inline constexpr double kFp8UnitRoundoff = 0x1p-4;
constexpr double fp8_half_smallest(Fp8Variant variant) {
  return variant == Fp8Variant::e4m3fnuz ? 0x1p-11 : 0x1p-10;
}

}  // namespace mla

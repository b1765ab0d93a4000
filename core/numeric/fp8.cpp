#include "core/numeric/fp8.hpp"

#include <bit>
#include <cmath>

namespace mla {
namespace {

constexpr int bias(Fp8Variant variant) {
  return variant == Fp8Variant::e4m3fnuz ? 8 : 7;
}

float decode(std::uint8_t bits, Fp8Variant variant) {
  const bool negative = (bits & 0x80U) != 0;
  const int exponent = (bits >> 3U) & 0xF;
  const int mantissa = bits & 0x7;
  if (variant == Fp8Variant::e4m3fnuz && bits == 0x80) return std::nanf("");
  if (variant == Fp8Variant::e4m3fn && (bits & 0x7FU) == 0x7F) return std::nanf("");
  const float magnitude =
      exponent == 0 ? std::ldexp(static_cast<float>(mantissa), 1 - bias(variant) - 3)
                    : std::ldexp(static_cast<float>(8 + mantissa), exponent - bias(variant) - 3);
  return negative ? -magnitude : magnitude;
}

std::array<float, 256> make_values(Fp8Variant variant) {
  std::array<float, 256> values{};
  for (unsigned i = 0; i < 256; ++i) values[i] = decode(static_cast<std::uint8_t>(i), variant);
  return values;
}

}  // namespace

const std::array<float, 256>& fp8_values(Fp8Variant variant) {
  static const std::array<float, 256> fnuz = make_values(Fp8Variant::e4m3fnuz);
  static const std::array<float, 256> ocp = make_values(Fp8Variant::e4m3fn);
  return variant == Fp8Variant::e4m3fnuz ? fnuz : ocp;
}

float fp8_to_float(std::uint8_t bits, Fp8Variant variant) {
  return fp8_values(variant)[bits];
}

std::uint8_t fp8_from_float(float value, Fp8Variant variant) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return fp8_nan(variant);
  const auto biased = static_cast<std::uint32_t>(127 + 1 - bias(variant));  // smallest normal's
  std::uint32_t code = 0;
  if (magnitude >= std::bit_cast<std::uint32_t>(fp8_max(variant))) {
    code = variant == Fp8Variant::e4m3fnuz ? 0x7F : 0x7E;
  } else if (magnitude >= biased << 23U) {
    // Keep 3 of 23 mantissa bits, ties to even; a carry moves to the next binade by itself.
    code = ((magnitude + 0x7FFFFU + ((magnitude >> 20U) & 1U)) >> 20U) - ((biased - 1) << 3U);
  } else {
    // A subnormal is a multiple of 2^(1 - bias - 3). Added to 2^23 times that, whose last place it
    // is, the sum rounds to nearest even and ends in the code.
    const auto anchor = std::bit_cast<float>((biased + 20) << 23U);
    const float sum = std::bit_cast<float>(magnitude) + anchor;
    code = std::bit_cast<std::uint32_t>(sum) & 0xFFU;
  }
  if (code == 0 && variant == Fp8Variant::e4m3fnuz) return 0;  // no negative zero
  return static_cast<std::uint8_t>((bits >> 31U) << 7U | code);
}

}  // namespace mla

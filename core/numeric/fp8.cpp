#include "core/numeric/fp8.hpp"

#include <algorithm>
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
  if (std::isnan(value)) return fp8_nan(variant);
  const std::uint8_t sign = std::signbit(value) ? 0x80 : 0;
  const float magnitude = std::fabs(value);
  const float largest = fp8_max(variant);
  const int smallest_exponent = 1 - bias(variant);
  std::uint8_t code = 0;
  if (magnitude >= largest) {
    code = variant == Fp8Variant::e4m3fnuz ? 0x7F : 0x7E;
  } else {
    int exponent = 0;
    if (magnitude > 0) std::frexp(magnitude, &exponent);
    exponent = std::max(exponent - 1, smallest_exponent);
    // Units of the last place of this binade: 8 to 16 for a normal number, below 8 for a subnormal.
    const int units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 3 - exponent)));
    const int carried = exponent - smallest_exponent;  // a carry to 16 moves to the next binade
    code = static_cast<std::uint8_t>(carried * 8 + units);
  }
  if (code == 0 && variant == Fp8Variant::e4m3fnuz) return 0;  // no negative zero
  return sign | code;
}

}  // namespace mla

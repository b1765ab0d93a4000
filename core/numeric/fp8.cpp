#include "core/numeric/fp8.hpp"

#include <cmath>

namespace mla {
namespace {

float decode(std::uint8_t bits, Fp8Variant variant) {
  const bool negative = (bits & 0x80U) != 0;
  const int exponent = (bits >> 3U) & 0xF;
  const int mantissa = bits & 0x7;
  if (variant == Fp8Variant::e4m3fnuz && bits == 0x80) return std::nanf("");
  if (variant == Fp8Variant::e4m3fn && (bits & 0x7FU) == 0x7F) return std::nanf("");
  const float magnitude =
      exponent == 0
          ? std::ldexp(static_cast<float>(mantissa), 1 - fp8_bias(variant) - 3)
          : std::ldexp(static_cast<float>(8 + mantissa), exponent - fp8_bias(variant) - 3);
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

}  // namespace mla

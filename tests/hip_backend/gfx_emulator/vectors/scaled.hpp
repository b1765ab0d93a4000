// Owns: what the vectors of all scaled conversions share: the wide formats, and scales.
#pragma once

#include "numbers.hpp"

namespace gfx_test {

// A wide format by what it is in a register.
struct Wide {
  const char* name;
  unsigned bits;
  double (*value)(u32);
  u32 (*nearest)(double);
};
inline double f32_value(u32 bits) {
  return static_cast<double>(float_of(bits));
}
inline u32 f32_of(double value) {
  return bits_of(static_cast<float>(value));
}
inline double f16_value(u32 bits) {
  return value_of(Half{static_cast<u16>(bits)});
}
inline u32 f16_of(double value) {
  return half_of(value).bits;
}
constexpr Wide wides[] = {{"f32", 32, f32_value, f32_of},
                          {"f16", 16, f16_value, f16_of},
                          {"bf16", 16, brain_value, brain_of}};

// The exponent of an f32; 255 is NaN.
inline double scale_value(u32 bits) {
  const u32 exponent = bits / 0x800000 % 256;
  return exponent == 255 ? std::nan("") : std::ldexp(1.0, static_cast<int>(exponent) - 127);
}

}  // namespace gfx_test

// Owns: what all v_cvt_scalef32_* do: their scale, their wide formats, and the steps between.
//
// A scale is the power of two in the exponent of an f32; encoding divides by it, decoding
// multiplies. Assumption FP8_RANGE. The callers keep the host's denormals. Included once for each
// host path, like lanes-inl.hpp.
#pragma once

#include <cmath>

#include "hip_backend/gfx_emulator/exec/random-inl.hpp"
#include "hip_backend/gfx_emulator/exec/small_float-inl.hpp"

namespace mla::gfx {
namespace {

enum class Wide : u8 { f32, f16, bf16 };

// Zero stands for 2^-127, as in every scale of eight bits; 255 is NaN.
inline double scale_of(u32 bits) {
  const int exponent = static_cast<int>(bits >> 23 & 0xff);
  return exponent == 0xff ? std::bit_cast<double>(u64{0x7ff8000000000000})
                          : std::ldexp(1.0, exponent - 127);
}

// Reads numbers to encode. MODE says whether the denormals of f32 count; 16-bit ones always do.
template <Wide wide>
class Widened {
 public:
  explicit Widened(const Wave& w) : flushes_((w.mode >> f32_sources_bit & 1) == 0) {}

  float operator()(u32 bits) const {
    if constexpr (wide == Wide::bf16) return bf16_to_float(bits);
    if constexpr (wide == Wide::f16) return to_float(Half{static_cast<u16>(bits)});
    const bool denormal = (bits & 0x7f800000) == 0;
    return float_of(flushes_ && denormal ? bits & 0x80000000 : bits);
  }

 private:
  static constexpr unsigned f32_sources_bit = 4;
  bool flushes_;
};

// The nearest float of a number whose significand has few bits; what a float cannot hold becomes
// infinity or zero, which every narrow format holds for the same.
inline float scaled_down(float value, double scale) {
  return static_cast<float>(static_cast<double>(value) / scale);
}

// From a product that is exact in f64: one rounding.
template <Wide wide>
inline u32 narrowed(double value) {
  const auto single = static_cast<float>(value);
  if constexpr (wide == Wide::f32) return bits_of(single);
  // At most four significant bits: f32 holds them, and what is denormal there is zero below.
  if constexpr (wide == Wide::f16) return to_half(single).bits;
  return to_bf16(single);
}

}  // namespace
}  // namespace mla::gfx

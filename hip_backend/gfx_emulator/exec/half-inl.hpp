// Owns: how results of f16 arithmetic are rounded: as bits 2 and 3 of MODE say, which f16 and f64
// share; those of f32 change nothing here. With MODE.FP16_OVFL what is too large becomes
// the largest number instead of infinity; an infinity that is no overflow stays (MODE in
// LLVM's AMDGPU usage, "FP16_OVFL"). Included once for each host path, like lanes-inl.hpp.
#pragma once

#include "hip_backend/gfx_emulator/exec/assumptions.hpp"
#include "hip_backend/gfx_emulator/exec/float-inl.hpp"

namespace mla::gfx {
namespace {

// a * b + c, to be rounded to half.
inline float fused_half(Half a, Half b, Half c) {
  const double product = static_cast<double>(to_float(a)) * static_cast<double>(to_float(b));
  return to_odd(product + static_cast<double>(to_float(c)));
}

struct ToNearest {
  Half operator()(float value) const { return to_half(value); }
};
// A finite f32 that rounds to infinity has overflowed.
struct ToLimit {
  Half operator()(float value) const {
    const u16 bits = to_half(value).bits;
    const bool over = (bits & 0x7fff) == 0x7c00 && (bits_of(value) & 0x7fffffff) != 0x7f800000;
    return Half{static_cast<u16>(over ? bits - 1 : bits)};
  }
};

inline bool limits_halves(const Wave& w) {
  return (w.mode >> assumed::fp16_ovfl_bit & 1) != 0;
}
inline Half half_result(const Wave& w, float value) {
  return limits_halves(w) ? ToLimit{}(value) : ToNearest{}(value);
}

// What MODE says of f16: 0 to nearest, 1 up, 2 down, 3 to zero.
inline u32 half_rounding(const Wave& w) {
  return w.mode >> 2 & 3;
}
// Whether a result is more than to_half() of it.
inline bool rounds_halves_otherwise(const Wave& w) {
  return half_rounding(w) != 0 || limits_halves(w);
}
// Sums and products of halves are calculated under the rounding of f16: so the sign of a zero is
// right, and a result that the host has rounded up, down or to zero may be rounded so once more.
inline void use_half_rounding(Wave& w) {
  if (half_rounding(w) == 0) return keep_denormals(w);
  constexpr u32 denormals = 0xf0;
  use_float_control(*w.group, HostFloat::for_mode(half_rounding(w) | denormals));
}
// `value` was calculated under use_half_rounding().
inline Half rounded_half(const Wave& w, float value) {
  constexpr u32 up = 1, down = 2, to_zero = 3;
  const u32 rounding = half_rounding(w);
  if (rounding == 0 || is_nan(value) || std::isinf(value)) return half_result(w, value);
  Half out = to_half(value);
  const float near = to_float(out);
  const bool negative = std::signbit(value);
  const bool away = rounding == (negative ? down : up);
  const bool toward = rounding == to_zero || rounding == (negative ? up : down);
  if (away && std::abs(near) < std::abs(value)) ++out.bits;
  if (toward && std::abs(near) > std::abs(value)) --out.bits;
  if ((out.bits & 0x7fff) == 0x7c00 && limits_halves(w)) --out.bits;
  return out;
}

}  // namespace
}  // namespace mla::gfx

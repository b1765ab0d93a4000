// Owns: how results of f16 arithmetic are rounded. With MODE.FP16_OVFL what is too large becomes
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

}  // namespace
}  // namespace mla::gfx

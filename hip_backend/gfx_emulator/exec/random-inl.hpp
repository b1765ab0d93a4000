// Owns: the generator of v_prng_b32, which stochastic conversions of several values use too.
// Included once for each host path, like lanes-inl.hpp.
#pragma once

#include "hip_backend/gfx_emulator/exec/lanes-inl.hpp"

namespace mla::gfx {
namespace {

inline u32 next_random(u32 bits) {
  return bits << 1 ^ ((bits >> 31) != 0 ? 0xc5U : 0U);
}

}  // namespace
}  // namespace mla::gfx

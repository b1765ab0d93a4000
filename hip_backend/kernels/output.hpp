// Results of a row on their way to memory: to the output, rounded to bf16, or to f32 partials.
#pragma once

#include "hip_backend/kernels/gpu.hpp"
#include "hip_backend/kernels/numbers.hpp"

namespace mla::hip {

// `value`: adjacent columns, an even number.
template <int kCount>
MLA_DEVICE void store_output(u16* to, const float (&value)[kCount], int rounding) {
  MLA_UNROLL
  for (int i = 0; i < kCount; i += 2)
    *reinterpret_cast<u32*>(to + i) =
        bf16_of(value[i], rounding) | static_cast<u32>(bf16_of(value[i + 1], rounding)) << 16U;
}
template <int kCount>
MLA_DEVICE void store_partial(float* to, const float (&value)[kCount]) {
  MLA_UNROLL
  for (int i = 0; i < kCount; i += 2)
    *reinterpret_cast<Bytes8*>(to + i) = {{bits_as<u32>(value[i]), bits_as<u32>(value[i + 1])}};
}

}  // namespace mla::hip

// hip_bfloat16, the elder of HIP's two types: bits and conversions. Arithmetic is that of float.
#pragma once

#include <cstdint>

#include "hip_runtime.h"

struct hip_bfloat16 {
  std::uint16_t data;

  enum truncate_t { truncate };
  hip_bfloat16() = default;
  // Rounds to nearest, ties to even; a NaN stays one.
  __host__ __device__ explicit hip_bfloat16(float value) {
    const std::uint32_t bits = bits_of(value);
    const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
    const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16U) & 1U);
    data = static_cast<std::uint16_t>(nan ? (bits >> 16U) | 1U : rounded >> 16U);
  }
  __host__ __device__ hip_bfloat16(float value, truncate_t)
      : data(static_cast<std::uint16_t>(bits_of(value) >> 16U)) {}
  __host__ __device__ operator float() const {  // NOLINT(google-explicit-constructor): as HIP's
    const std::uint32_t bits = std::uint32_t{data} << 16U;
    float out = 0;
    __builtin_memcpy(&out, &bits, sizeof out);
    return out;
  }
  __host__ __device__ static hip_bfloat16 round_to_bfloat16(float value) {
    return hip_bfloat16(value);
  }

 private:
  __host__ __device__ static std::uint32_t bits_of(float value) {
    std::uint32_t out = 0;
    __builtin_memcpy(&out, &value, sizeof out);
    return out;
  }
};

#define MLA_ARITHMETIC(op)                                                              \
  __host__ __device__ inline hip_bfloat16 operator op(hip_bfloat16 a, hip_bfloat16 b) { \
    return hip_bfloat16(static_cast<float>(a) op static_cast<float>(b));                \
  }
MLA_ARITHMETIC(+)
MLA_ARITHMETIC(-)
MLA_ARITHMETIC(*)
MLA_ARITHMETIC(/)
#undef MLA_ARITHMETIC

// Elements of a row of Q or of the cache as they are stored, read and written as numbers without
// their scale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/arch.hpp"
#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"

namespace mla::prop {

inline float stored_element(const std::byte* row, std::int64_t d, Dtype dtype, Fp8Variant variant) {
  if (dtype == Dtype::fp8) return fp8_to_float(static_cast<std::uint8_t>(row[d]), variant);
  std::uint16_t bits = 0;
  std::memcpy(&bits, row + d * 2, sizeof bits);
  return bf16_to_float(bits);
}

inline void store_element(std::byte* row, std::int64_t d, float value, Dtype dtype,
                          Fp8Variant variant) {
  if (dtype == Dtype::fp8) {
    row[d] = std::byte{fp8_from_float(value, variant)};
    return;
  }
  const std::uint16_t bits = bf16_from_float(value, Bf16Rounding::nearest_even);
  std::memcpy(row + d * 2, &bits, sizeof bits);
}

}  // namespace mla::prop

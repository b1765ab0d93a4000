// bf16 as bits: exact widening, and the three roundings that the kernels use.
//
// Source: aiter.md 6 and 7 (stage 1 on gfx942 rounds ties away, the reduce there truncates; gfx950
// rounds to nearest even). NaN stays NaN in each.
#pragma once

#include <bit>
#include <cstdint>

#include "core/arch.hpp"

namespace mla {

constexpr float bf16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

inline constexpr std::uint16_t kBf16Nan = 0x7FC0;
inline constexpr std::uint16_t kBf16Infinity = 0x7F80;

enum class Bf16Rounding : std::uint8_t { nearest_even, nearest_away, truncate };

constexpr bool is_nan_bits(std::uint32_t bits) {
  return (bits & 0x7FFFFFFFU) > 0x7F800000U;
}

constexpr std::uint16_t bf16_from_float(float value, Bf16Rounding rounding) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (is_nan_bits(bits)) return static_cast<std::uint16_t>((bits >> 16U) | 0x0040U);
  std::uint32_t carry = 0;
  if (rounding == Bf16Rounding::nearest_even) carry = 0x7FFFU + ((bits >> 16U) & 1U);
  if (rounding == Bf16Rounding::nearest_away) carry = 0x8000U;
  return static_cast<std::uint16_t>((bits + carry) >> 16U);
}

constexpr Bf16Rounding stage1_rounding(Arch arch) {
  return arch == Arch::gfx942 ? Bf16Rounding::nearest_away : Bf16Rounding::nearest_even;
}
constexpr Bf16Rounding reduce_rounding(Arch arch) {
  return arch == Arch::gfx942 ? Bf16Rounding::truncate : Bf16Rounding::nearest_even;
}

// Largest relative error of a rounding of a normal number (8 significant bits).
constexpr double unit_roundoff(Bf16Rounding rounding) {
  return rounding == Bf16Rounding::truncate ? 0x1p-7 : 0x1p-8;
}

}  // namespace mla

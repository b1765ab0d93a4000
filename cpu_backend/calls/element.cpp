#include "cpu_backend/calls/element.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/numeric/bf16.hpp"

namespace mla::cpu {
namespace {

template <class T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

std::int64_t element_bytes(SourceType type) {
  return type == SourceType::f32 ? 4 : 2;
}

float f16_to_float(std::uint16_t bits) {
  const float sign = (bits & 0x8000U) != 0 ? -1.0F : 1.0F;
  const int exponent = (bits >> 10U) & 0x1F;
  const auto fraction = static_cast<float>(bits & 0x3FFU);
  if (exponent == 0x1F)
    return fraction == 0 ? sign * INFINITY : std::numeric_limits<float>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024.0F + fraction, exponent - 25);
}

std::uint16_t f16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16U) & 0x8000U);
  const float size = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7E00U;
  if (size >= 65520.0F) return sign | 0x7C00U;  // halfway to the first number beyond 65504
  if (size < 0x1p-14F) {
    // Subnormal: a multiple of 2^-24. The sum is rounded to one by the addition itself.
    const float sum = size + 0x1p-1F;
    return sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(sum) & 0x7FFU);
  }
  const std::uint32_t positive = bits & 0x7FFFFFFFU;
  const std::uint32_t rounded = positive + 0xFFFU + ((positive >> 13U) & 1U);
  return sign | static_cast<std::uint16_t>((rounded - (112U << 23U)) >> 13U);
}

float read_element(const std::byte* from, SourceType type) {
  switch (type) {
    case SourceType::bf16:
      return bf16_to_float(read<std::uint16_t>(from));
    case SourceType::f16:
      return f16_to_float(read<std::uint16_t>(from));
    case SourceType::f32:
      break;
  }
  return read<float>(from);
}

void write_element(float value, SourceType type, std::byte* to) {
  if (type == SourceType::f32) {
    std::memcpy(to, &value, sizeof value);
    return;
  }
  const std::uint16_t bits = type == SourceType::f16
                                 ? f16_from_float(value)
                                 : bf16_from_float(value, Bf16Rounding::nearest_even);
  std::memcpy(to, &bits, sizeof bits);
}

}  // namespace mla::cpu

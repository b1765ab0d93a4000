// Conversions that round down, up or to zero, on host and device. They follow no mode of the
// hardware: the nearest number is taken, and its neighbour where it lies on the wrong side.
#pragma once

#include "../runtime_types.h"

namespace mla_hip {

enum class Rounding { down, up, to_zero };

// The bits of a number of a narrower type, one step away from zero or toward it.
template <class To>
struct BitsOf;
template <>
struct BitsOf<float> {
  using Type = unsigned;
};
template <>
struct BitsOf<double> {
  using Type = unsigned long long;
};
template <>
struct BitsOf<_Float16> {
  using Type = unsigned short;
};
template <class To>
MLA_HIP_BOTH inline To stepped(To number, int steps) {
  using Bits = typename BitsOf<To>::Type;
  return __builtin_bit_cast(
      To, static_cast<Bits>(__builtin_bit_cast(Bits, number) + static_cast<Bits>(steps)));
}

// Of a wider type. Past the largest number the nearest is infinite, and the largest stands beside
// it.
template <class To, class From>
MLA_HIP_BOTH inline To narrowed(From value, Rounding rounding) {
  const To near = static_cast<To>(value);
  const From back = static_cast<From>(near);
  const bool negative = __builtin_signbit(value) != 0;
  const bool too_small = negative ? back > value : back < value;  // nearer to zero than it is
  const bool too_large = negative ? back < value : back > value;
  const bool away = rounding == (negative ? Rounding::down : Rounding::up);
  if (too_small && away) return stepped(near, 1);
  if (too_large && !away) return stepped(near, -1);
  return near;
}

// Of an integer: what does not fit is cut off, and one step made where that is the wrong side.
template <class To, class From>
MLA_HIP_BOTH inline To of_integer(From value, Rounding rounding) {
  constexpr int digits = sizeof(To) == 4 ? 24 : 53;
  const bool negative = value < 0;
  const auto wide = static_cast<unsigned long long>(value);
  const unsigned long long size = negative ? 0 - wide : wide;
  const int width = size == 0 ? 0 : 64 - __builtin_clzll(size);
  const unsigned long long lost = width > digits ? size & ((1ULL << (width - digits)) - 1) : 0;
  const To cut = static_cast<To>(size - lost);
  const bool away = rounding == (negative ? Rounding::down : Rounding::up);
  const To out = lost != 0 && away ? stepped(cut, 1) : cut;
  return negative ? -out : out;
}

}  // namespace mla_hip

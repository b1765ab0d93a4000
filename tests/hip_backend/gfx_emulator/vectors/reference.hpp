// Owns: the small functions that references of several families share.
#pragma once

#include <algorithm>
#include <limits>

#include "numbers.hpp"

namespace gfx_test::reference {

// Minimum and maximum: a NaN loses, -0 is below +0.
template <class T>
T lesser(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == 0 && b == 0) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <class T>
T greater(T a, T b) {
  return -lesser(-a, -b);
}
inline Half lesser(Half a, Half b) {
  return half_of(lesser(value_of(a), value_of(b)));
}
inline Half greater(Half a, Half b) {
  return half_of(greater(value_of(a), value_of(b)));
}

// A product and a sum, rounded once.
[[nodiscard]] Half fused(Half a, Half b, Half c);

// What an integer type can hold of a number: towards zero, NaN is zero.
template <class To>
To limited(double value) {
  if (std::isnan(value)) return 0;
  const double low = static_cast<double>(std::numeric_limits<To>::min());
  const double high = static_cast<double>(std::numeric_limits<To>::max());
  return static_cast<To>(std::clamp(std::trunc(value), low, high));
}
template <class To>
To limited_whole(i64 value) {
  return static_cast<To>(
      std::clamp<i64>(value, std::numeric_limits<To>::min(), std::numeric_limits<To>::max()));
}

// f32 denormals become zeros of their sign (assumption SPECIAL_DENORMALS).
inline float flushed(double value) {
  const auto number = static_cast<float>(value);
  return std::fpclassify(number) == FP_SUBNORMAL ? std::copysign(0.0F, number) : number;
}

inline i32 sign_extended(u32 value, unsigned bits) {
  const u32 field = value & static_cast<u32>((u64{1} << bits) - 1);
  return static_cast<i32>(static_cast<i64>(field) -
                          ((field >> (bits - 1) & 1) != 0 ? i64{1} << bits : 0));
}

// Positions of bits, by looking at each; -1 where there is none.
template <class T>
i32 highest_bit(T value) {
  for (i32 k = 8 * sizeof(T) - 1; k >= 0; --k) {
    if ((value >> k & 1) != 0) return k;
  }
  return -1;
}
template <class T>
i32 lowest_bit(T value) {
  for (i32 k = 0; k < static_cast<i32>(8 * sizeof(T)); ++k) {
    if ((value >> k & 1) != 0) return k;
  }
  return -1;
}
template <class T>
T reversed(T value) {
  T out = 0;
  for (unsigned k = 0; k < 8 * sizeof(T); ++k) {
    if ((value >> k & 1) != 0) out |= T{1} << (8 * sizeof(T) - 1 - k);
  }
  return out;
}
template <class T>
i32 ones(T value) {
  i32 count = 0;
  for (unsigned k = 0; k < 8 * sizeof(T); ++k) count += static_cast<i32>(value >> k & 1);
  return count;
}
// How many bits from the top are alike, or -1 where all are.
template <class T>
i32 alike_from_top(T value) {
  const unsigned bits = 8 * sizeof(T);
  for (unsigned k = 1; k < bits; ++k) {
    if ((value >> (bits - 1 - k) & 1) != (value >> (bits - 1) & 1)) return static_cast<i32>(k);
  }
  return -1;
}

}  // namespace gfx_test::reference

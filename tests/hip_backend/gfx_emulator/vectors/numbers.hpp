// Owns: arithmetic that judges the emulator: f16, bf16 and 8-bit floats by their values, rounding
// by exact integers, and the operands worth trying. Shares no line with the emulator.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace gfx_test {

using i16 = std::int16_t;
using u16 = std::uint16_t;
using i32 = std::int32_t;
using u32 = std::uint32_t;
using i64 = std::int64_t;
using u64 = std::uint64_t;
__extension__ typedef __int128 i128;

struct Half {
  u16 bits;
};

// A binary format by its numbers: exponents below `lowest` are denormal, `highest` is the largest.
struct Format {
  int fraction_bits, lowest, highest;
};
constexpr Format f16_format = {10, -14, 15}, bf16_format = {7, -126, 127};

// To the nearest number of a format, ties to even; beyond the largest: infinity.
[[nodiscard]] double rounded(double value, const Format& format);
// The same for value * 2^-scale of a large integer.
[[nodiscard]] double rounded(i128 value, int scale, const Format& format);
// Towards zero; never infinite but from infinity.
[[nodiscard]] double truncated(double value, const Format& format);

[[nodiscard]] double value_of(Half half);
[[nodiscard]] Half half_of(double value);  // rounds
[[nodiscard]] double brain_value(u32 bits);
[[nodiscard]] u32 brain_of(double value);  // rounds

// 8-bit floats. FNUZ: no infinities, no negative zero, the only NaN is 0x80.
struct Byte {
  int exponent_bits, fraction_bits;
  bool fnuz;
};
constexpr Byte fp8_fnuz = {4, 3, true}, bf8_fnuz = {5, 2, true};
constexpr Byte fp8_ocp = {4, 3, false}, bf8_ocp = {5, 2, false};
[[nodiscard]] double byte_value(u32 byte, const Byte& format);
// The byte whose value is nearest, ties to even; what is above every number is `over`.
[[nodiscard]] u32 byte_of(double value, const Byte& format, bool saturate);

// Small floats without infinities and NaN: fp6 (e2m3), bf6 (e3m2), fp4 (e2m1).
[[nodiscard]] double small_value(u32 bits, int exponent_bits, int fraction_bits);

[[nodiscard]] inline float float_of(u32 bits) {
  return std::bit_cast<float>(bits);
}
[[nodiscard]] inline u32 bits_of(float value) {
  return std::bit_cast<u32>(value);
}
[[nodiscard]] inline double double_of(u64 bits) {
  return std::bit_cast<double>(bits);
}
[[nodiscard]] inline u64 bits_of(double value) {
  return std::bit_cast<u64>(value);
}

// What an operand is.
enum class Type : std::uint8_t { f16, f32, f64, u16, i16, u32, i32, u64, i64 };
[[nodiscard]] constexpr unsigned size_of(Type type) {
  return type == Type::f16 || type == Type::u16 || type == Type::i16   ? 2
         : type == Type::f64 || type == Type::u64 || type == Type::i64 ? 8
                                                                       : 4;
}
// A literal as an integer operand has it: only a signed one of 64 bits takes its sign.
[[nodiscard]] constexpr u64 literal_value(u32 word, Type type) {
  return type == Type::i64 ? static_cast<u64>(i64{static_cast<i32>(word)}) : word;
}
[[nodiscard]] constexpr bool is_real(Type type) {
  return type == Type::f16 || type == Type::f32 || type == Type::f64;
}
// Zeros, denormals, limits, infinities, NaN, halves; integers around every limit and shift count.
[[nodiscard]] const std::vector<u64>& edges(Type type);

}  // namespace gfx_test

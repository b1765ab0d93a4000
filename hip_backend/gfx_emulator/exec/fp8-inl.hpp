// Owns: the four 8-bit float formats: e4m3 and e5m2, as gfx942 (FNUZ) and gfx950 (OCP) know them;
// and the rounding of an f32 to any format of eight bits or fewer.
// Included once for each host path, like lanes-inl.hpp.
#pragma once

#include <array>

#include "hip_backend/gfx_emulator/exec/float-inl.hpp"

namespace mla::gfx {
namespace {

enum class Fp8 : u8 { e4m3_fnuz, e5m2_fnuz, e4m3_ocp, e5m2_ocp };

struct Fp8Format {
  int fraction_bits, bias;
  u32 largest, nan, overflow;  // magnitudes; `nan` of FNUZ is the whole byte 0x80
  bool fnuz;
};

constexpr Fp8Format format_of(Fp8 kind) {
  switch (kind) {
    case Fp8::e4m3_fnuz:
      return {3, 8, 0x7f, 0x80, 0x80, true};
    case Fp8::e5m2_fnuz:
      return {2, 16, 0x7f, 0x80, 0x80, true};
    case Fp8::e4m3_ocp:
      return {3, 7, 0x7e, 0x7f, 0x7f, false};
    default:
      return {2, 15, 0x7b, 0x7f, 0x7c, false};
  }
}

constexpr float decode_fp8(u32 byte, const Fp8Format& f) {
  const u32 magnitude = byte & 0x7f;
  if (f.fnuz ? byte == 0x80 : magnitude > f.largest) {
    if (!f.fnuz && f.overflow != f.nan && magnitude == f.overflow) {
      return std::bit_cast<float>(byte > 0x7f ? 0xff800000U : 0x7f800000U);
    }
    return std::bit_cast<float>(0x7fc00000U);
  }
  const int exponent = static_cast<int>(magnitude) >> f.fraction_bits;
  const int fraction = static_cast<int>(magnitude) & ((1 << f.fraction_bits) - 1);
  const int scale = (exponent == 0 ? 1 : exponent) - f.bias - f.fraction_bits;
  const int significand = exponent == 0 ? fraction : fraction | 1 << f.fraction_bits;
  const auto power = std::bit_cast<float>(static_cast<u32>(scale + 127) << 23);
  const float value = static_cast<float>(significand) * power;
  return byte > 0x7f ? -value : value;
}

template <Fp8 kind>
struct Fp8Table {
  std::array<float, 256> values{};
  constexpr Fp8Table() {
    for (u32 byte = 0; byte < 256; ++byte) values[byte] = decode_fp8(byte, format_of(kind));
  }
};
template <Fp8 kind>
constexpr Fp8Table<kind> fp8_table;

// The finite magnitude of an f32 as the exponent and fraction bits of a smaller format; above its
// largest code there is an overflow. Rounds to nearest even, or (`stochastic`) adds the random bits
// below the kept ones and truncates (assumption STOCHASTIC_ROUNDING).
inline u64 rounded_code(u32 magnitude, int fraction_bits, int bias, bool stochastic, u32 random) {
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  if (magnitude < 0x00800000) return 0;
  const int lowest = 1 - bias;
  const int drop = 23 - fraction_bits + (exponent < lowest ? lowest - exponent : 0);
  if (drop > 60) return 0;  // not even random bits make a unit of it
  const u64 significand = (magnitude & 0x7fffff) | 0x800000;
  const u64 unit = u64{1} << drop;
  u64 kept = significand >> drop;
  if (stochastic) {
    const u64 added = drop > 32 ? u64{random} << (drop - 32) : u64{random} >> (32 - drop);
    kept = (significand + added) >> drop;
  } else {
    const u64 rest = significand & (unit - 1);
    kept += rest > unit / 2 || (rest == unit / 2 && (kept & 1) != 0) ? 1 : 0;
  }
  // A carry out of the significand moves into the exponent by itself.
  const int base = exponent < lowest ? 0 : (exponent + bias - 1) << fraction_bits;
  return static_cast<u64>(base) + kept;
}

// Assumption FP8_RANGE.
template <Fp8 kind>
inline u32 encode_fp8(float value, bool saturate, bool stochastic, u32 random) {
  constexpr Fp8Format f = format_of(kind);
  const u32 sign = bits_of(value) >> 24 & 0x80, magnitude = bits_of(value) & 0x7fffffff;
  if (magnitude > 0x7f800000) return f.fnuz ? 0x80 : f.nan | sign;
  const u32 over = saturate ? f.largest | sign : f.fnuz ? 0x80 : f.overflow | sign;
  if (magnitude == 0x7f800000) return over;
  const u64 out = rounded_code(magnitude, f.fraction_bits, f.bias, stochastic, random);
  if (out > f.largest) return over;
  return out == 0 && f.fnuz ? 0 : static_cast<u32>(out) | sign;
}

}  // namespace
}  // namespace mla::gfx

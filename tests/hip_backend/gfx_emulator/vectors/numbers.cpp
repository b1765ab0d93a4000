#include "numbers.hpp"

#include <limits>

namespace gfx_test {
namespace {

double beyond(double value, const Format& f) {
  const double most = std::ldexp(2 - std::ldexp(1.0, -f.fraction_bits), f.highest);
  return std::abs(value) > most ? std::copysign(HUGE_VAL, value) : value;
}

double unit_of(double value, const Format& f) {
  return std::ldexp(1.0, std::max(std::ilogb(value), f.lowest) - f.fraction_bits);
}

}  // namespace

double rounded(double value, const Format& f) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double unit = unit_of(value, f);
  return beyond(std::nearbyint(value / unit) * unit, f);
}

double rounded(i128 value, int scale, const Format& f) {
  // Keeps 53 bits; what is lost makes the last one odd, which no tie survives.
  bool lost = false;
  i128 magnitude = value < 0 ? -value : value;
  while (magnitude >> 52 != 0) {
    lost = lost || (magnitude & 1) != 0;
    magnitude >>= 1;
    --scale;
  }
  auto kept = static_cast<double>(static_cast<i64>(magnitude));
  if (lost) kept += 0.5;
  return rounded(std::ldexp(value < 0 ? -kept : kept, -scale), f);
}

double truncated(double value, const Format& f) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double most = std::ldexp(2 - std::ldexp(1.0, -f.fraction_bits), f.highest);
  if (std::abs(value) > most) return std::copysign(most, value);
  const double unit = unit_of(value, f);
  return std::trunc(value / unit) * unit;
}

double value_of(Half half) {
  const double sign = (half.bits >> 15) != 0 ? -1 : 1;
  const int exponent = half.bits >> 10 & 31, fraction = half.bits & 1023;
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

Half half_of(double value) {
  if (std::isnan(value)) return {0x7e00};
  const double r = rounded(value, f16_format), magnitude = std::abs(r);
  const u32 sign = std::signbit(value) ? 0x8000 : 0;
  u32 bits = 0;
  if (std::isinf(r)) {
    bits = 0x7c00;
  } else if (magnitude >= 0x1p-14) {
    const int exponent = std::ilogb(magnitude);
    bits = static_cast<u32>((exponent + 15) * 1024 +
                            static_cast<int>((std::ldexp(magnitude, -exponent) - 1) * 1024));
  } else {
    bits = static_cast<u32>(std::ldexp(magnitude, 24));
  }
  return {static_cast<u16>(bits | sign)};
}

double brain_value(u32 bits) {
  return static_cast<double>(float_of(bits << 16));
}
u32 brain_of(double value) {
  if (std::isnan(value)) return 0x7fc0;
  return bits_of(static_cast<float>(rounded(value, bf16_format))) >> 16;
}

double byte_value(u32 byte, const Byte& f) {
  const double sign = (byte & 0x80) != 0 ? -1 : 1;
  const int exponent = static_cast<int>((byte & 0x7f) >> f.fraction_bits);
  const int fraction = static_cast<int>(byte & ((1U << f.fraction_bits) - 1));
  const int top = (1 << f.exponent_bits) - 1, all = (1 << f.fraction_bits) - 1;
  const int bias = (1 << (f.exponent_bits - 1)) - (f.fnuz ? 0 : 1);
  if (f.fnuz && byte == 0x80) return std::nan("");
  if (!f.fnuz && f.exponent_bits == 4 && exponent == top && fraction == all) return std::nan("");
  if (!f.fnuz && f.exponent_bits == 5 && exponent == top) {
    return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  }
  const double significand = exponent == 0 ? fraction : fraction + all + 1;
  return sign * std::ldexp(significand, std::max(exponent, 1) - bias - f.fraction_bits);
}

// The search is over all bytes: slow, and beyond doubt.
u32 byte_of(double value, const Byte& f, bool saturate) {
  const u32 sign = std::signbit(value) ? 0x80 : 0;
  const u32 nan = f.fnuz ? 0x80 : 0x7f | sign;
  u32 largest = 0x7f;
  while (!std::isfinite(byte_value(largest, f))) --largest;
  const u32 over = saturate               ? largest | sign
                   : f.fnuz               ? 0x80
                   : f.exponent_bits == 5 ? 0x7c | sign
                                          : nan;
  if (std::isnan(value)) return nan;
  const double magnitude = std::abs(value), most = byte_value(largest, f);
  const double last_unit = most - byte_value(largest - 1, f);
  if (magnitude >= most + last_unit / 2) return over;
  u32 best = 0;
  for (u32 byte = 1; byte <= largest; ++byte) {
    const double apart = std::abs(byte_value(byte, f) - magnitude);
    const double before = std::abs(byte_value(best, f) - magnitude);
    if (apart < before || (apart == before && byte % 2 == 0)) best = byte;
  }
  return best == 0 && f.fnuz ? 0 : best | sign;
}

double small_value(u32 bits, int exponent_bits, int fraction_bits) {
  const int exponent = static_cast<int>(bits >> fraction_bits & ((1U << exponent_bits) - 1));
  const int fraction = static_cast<int>(bits & ((1U << fraction_bits) - 1));
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double significand = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
  const double value = std::ldexp(significand, std::max(exponent, 1) - bias - fraction_bits);
  return (bits >> (exponent_bits + fraction_bits) & 1) != 0 ? -value : value;
}

namespace {

const std::vector<u64> f16_edges = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x8400, 0x3800,
                                    0xb800, 0x3c00, 0xbc00, 0x3e00, 0xc100, 0x4248, 0x5c01, 0x7800,
                                    0x77ff, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01};
const std::vector<u64> f32_edges = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x80800000, 0x3effffff,
    0x3f000000, 0xbf000000, 0x3f7fffff, 0x3f800000, 0xbf800000, 0x3fc00000, 0xc0200000, 0x40490fdb,
    0x437f8000, 0x47000001, 0x4b000001, 0xcb000003, 0x4effffff, 0x4f000000, 0xcf000000, 0x4f7fffff,
    0x4f800000, 0x7effffff, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345};
const std::vector<u64> f64_edges = {
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x800fffffffffffff,
    0x0010000000000000, 0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
    0xbff0000000000000, 0x3ff8000000000000, 0xc004000000000000, 0x400921fb54442d18,
    0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000000000, 0xc1e0000000200000,
    0x41efffffffe00000, 0x41f0000000000000, 0x4330000000000001, 0x36a0000000000000,
    0x47efffffe0000000, 0x47efffffefffffff, 0x7fefffffffffffff, 0xffefffffffffffff,
    0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000};
const std::vector<u64> u16_edges = {0,    1,     2,      7,      15,     16,     0x7f,   0x80,
                                    0xff, 0x100, 0x7fff, 0x8000, 0x8001, 0xff80, 0xfffe, 0xffff};
const std::vector<u64> u32_edges = {
    0,        1,         2,          8,          31,         32,         33,         63,
    64,       0xff,      0x7fff,     0x8000,     0xffff,     0x10000,    0x7fffff,   0x800000,
    0xffffff, 0x1000000, 0x55555555, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff};
const std::vector<u64> u64_edges = {0,
                                    1,
                                    31,
                                    32,
                                    63,
                                    64,
                                    0x7fffffff,
                                    0x80000000,
                                    0xffffffff,
                                    0x100000000,
                                    0x5555555555555555,
                                    0x7fffffffffffffff,
                                    0x8000000000000000,
                                    0x8000000000000001,
                                    0xffffffff00000000,
                                    0xffffffff80000000,
                                    0xffffffffffffffff};

}  // namespace

const std::vector<u64>& edges(Type type) {
  switch (type) {
    case Type::f16:
      return f16_edges;
    case Type::f32:
      return f32_edges;
    case Type::f64:
      return f64_edges;
    case Type::u16:
    case Type::i16:
      return u16_edges;
    case Type::u32:
    case Type::i32:
      return u32_edges;
    default:
      return u64_edges;
  }
}

}  // namespace gfx_test

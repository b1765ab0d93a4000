// Assumptions about what becomes of values: ranges, roundings, denormals, division.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "hip_backend/assumptions/tables.hpp"

namespace mla::hip {
namespace {

using u32 = std::uint32_t;

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

u32 bits_of(float value) {
  return std::bit_cast<u32>(value);
}
float value_of(u32 bits) {
  return std::bit_cast<float>(bits);
}

// The first `count` numbers of a table's rows, which go round among the lanes.
template <const auto& table, std::size_t count>
LaneWords table_inputs() {
  LaneWords in = no_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane)
    for (std::size_t k = 0; k < count; ++k)
      word(in, lane, k) = bits_of(table.at(lane % table.size()).at(k));
  return in;
}

// A magnitude of an 8-bit format with `fraction` bits; what every format has in common.
float small_float(u32 magnitude, int fraction, int bias) {
  const int exponent = static_cast<int>(magnitude >> fraction);
  const int rest = static_cast<int>(magnitude & ((1U << fraction) - 1));
  const int unit = std::max(exponent, 1) - bias - fraction;
  return std::ldexp(static_cast<float>(exponent == 0 ? rest : rest + (1 << fraction)), unit);
}

struct Small {
  int fraction, bias;
  u32 largest, nan, over;  // magnitudes; of FNUZ the whole byte
  bool fnuz;
};
Small e4m3(Arch arch) {
  if (arch == Arch::gfx942) return {3, 8, 0x7f, 0x80, 0x80, true};
  return {3, 7, 0x7e, 0x7f, 0x7f, false};
}
Small e5m2(Arch arch) {
  if (arch == Arch::gfx942) return {2, 16, 0x7f, 0x80, 0x80, true};
  return {2, 15, 0x7b, 0x7f, 0x7c, false};
}

// The inputs are values of both formats, or beyond them.
u32 small_bits(float value, const Small& f, bool saturate) {
  if (std::isnan(value)) return f.nan;
  const u32 sign = std::signbit(value) ? 0x80 : 0;
  const float magnitude = std::fabs(value);
  if (magnitude > small_float(f.largest, f.fraction, f.bias)) {
    if (saturate) return f.largest | sign;
    return f.fnuz ? f.over : f.over | sign;
  }
  u32 bits = 0;
  while (small_float(bits, f.fraction, f.bias) < magnitude) ++bits;
  return bits | sign;
}

constexpr std::array<std::array<float, 1>, 10> kRange = {{{1},
                                                          {-1.5F},
                                                          {240},
                                                          {0.25F},
                                                          {1000000},
                                                          {-1000000},
                                                          {kInfinite},
                                                          {-kInfinite},
                                                          {kNotANumber},
                                                          {std::numeric_limits<float>::max()}}};
LaneWords range_expected(Arch arch, const LaneWords& in) {
  LaneWords out = no_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    const float value = value_of(word(in, lane, 0));
    for (std::size_t k = 0; k < 4; ++k)
      word(out, lane, k) = 0x101 * small_bits(value, k % 2 == 0 ? e4m3(arch) : e5m2(arch), k >= 2);
  }
  return out;
}

// Values in [1, 2) with bits down to the last, random bits beside them.
LaneWords fraction_inputs() {
  LaneWords in = scattered_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane)
    word(in, lane, 0) = word(in, lane, 0) >> 9 | bits_of(1);
  return in;
}
LaneWords stochastic_expected(Arch arch, const LaneWords& in) {
  LaneWords out = no_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    // 24 bits, of which 4 stay: 20 random ones are added to the others.
    const u32 significand = (word(in, lane, 0) & 0x7fffffU) | 0x800000U;
    const u32 kept = (significand + (word(in, lane, 1) >> 12)) >> 20;
    word(out, lane, 0) = (static_cast<u32>(e4m3(arch).bias - 1) << 3) + kept;
  }
  return out;
}
LaneWords passes_expected(Arch /*arch*/, const LaneWords& in) {
  LaneWords out = no_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    const u32 significand = (word(in, lane, 0) & 0x7fffffU) | 0x800000U;
    u32 random = word(in, lane, 1);
    for (std::size_t k = 0; k < 32; ++k) {
      // One is 2 in four bits, and 8 in six.
      if (k < 2) word(out, lane, 0) |= (significand + (random >> 10)) >> 22 << 4 * k;
      const u32 code = (significand + (random >> 12)) >> 20;
      for (std::size_t bit = 0; bit < 6; ++bit)
        word(out, lane, 1 + (6 * k + bit) / 32) |= (code >> bit & 1U) << (6 * k + bit) % 32;
      random = random << 1U ^ (random >> 31 != 0 ? 0xc5U : 0U);  // v_prng_b32
    }
  }
  return out;
}
LaneWords nearest_expected(Arch arch, const LaneWords& in) {
  LaneWords out = no_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    const double fraction = double{value_of(word(in, lane, 0))} - 1;
    word(out, lane, 0) = 0x3c00 + static_cast<u32>(std::nearbyint(fraction * 1024));
    word(out, lane, 1) =
        (static_cast<u32>(e4m3(arch).bias) << 3) + static_cast<u32>(std::nearbyint(fraction * 8));
  }
  return out;
}

LaneWords packed_inputs() {
  LaneWords in = no_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane)
    for (std::size_t k = 0; k < 4; ++k)
      word(in, lane, k) = bits_of(static_cast<float>(lane * 4 + k) + 0.25F);
  return in;
}
LaneWords packed_expected(Arch /*arch*/, const LaneWords& in) {
  LaneWords out = no_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    for (std::size_t k = 0; k < 2; ++k) {
      const float value = value_of(word(in, lane, k));
      word(out, lane, k) = bits_of(value + 1);
      word(out, lane, 2 + k) = bits_of(value * value_of(word(in, 0, 2 + k)));
    }
  }
  return out;
}

float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value;
}
constexpr std::array<std::array<float, 1>, 10> kSpecial = {{{0x1p-149F},
                                                            {-0x1p-127F},
                                                            {0x1p-126F},
                                                            {0x1p127F},
                                                            {-0x1.8p127F},
                                                            {-140},
                                                            {0x1.8p-127F},
                                                            {3.7F},
                                                            {-5.25F},
                                                            {0.125F}}};
LaneWords special_expected(Arch /*arch*/, const LaneWords& in) {
  LaneWords out = no_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    const double value = double{flushed(value_of(word(in, lane, 0)))};
    const std::array<double, 5> results = {std::exp2(value), std::log2(value), 1 / value,
                                           1 / std::sqrt(value), std::sqrt(value)};
    for (std::size_t k = 0; k < results.size(); ++k)
      word(out, lane, k) = bits_of(flushed(static_cast<float>(results.at(k))));
  }
  return out;
}

// Quotient so far, denominator, numerator; then what v_div_fixup makes of them.
constexpr std::array<std::array<float, 4>, 4> kFixups = {{
    {123, 0x1p100F, 0x1p-100F, 0},  // below every number
    {-123, -0x1p100F, 0x1p-100F, -0.0F},
    {kNotANumber, 2, 0x1p127F, kInfinite},  // the steps before it overflowed
    {kNotANumber, -2, 0x1p127F, -kInfinite},
}};
// Denominator, numerator; then the denominator as v_div_scale scales it.
constexpr std::array<std::array<float, 3>, 2> kScales = {{
    {0x1p127F, 0x1p-10F, 0x1p63F},
    {-0x1.8p127F, 0x1.1p-15F, -0x1.8p63F},
}};
// Factors and addend of v_div_fmas; then the sum, scaled by 2^64 or by its inverse.
constexpr std::array<std::array<float, 4>, 4> kSums = {{
    {1, 1, 4, 0x5p64F},
    {1, 1, 2, 0x3p64F},
    {1, 1, 1.5F, 0x2.8p-64F},
    {-1, 1, 0.25F, -0x0.cp-64F},
}};
template <const auto& table>
LaneWords table_expected(Arch /*arch*/, const LaneWords& /*in*/) {
  LaneWords out = no_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane)
    word(out, lane, 0) = bits_of(table.at(lane % table.size()).back());
  return out;
}

LaneWords halves_expected(Arch /*arch*/, const LaneWords& in) {
  constexpr u32 two = 0x4000;
  LaneWords out = no_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    word(out, lane, 0) = word(out, lane, 1) = two;
    word(out, lane, 2) = (word(in, lane, 0) & 0xffff0000U) | two;
  }
  return out;
}

LaneWords other_halves_expected(Arch /*arch*/, const LaneWords& in) {
  LaneWords out = no_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    const u32 before = word(in, lane, 0), loaded = word(in, lane, 1);
    word(out, lane, 0) = (before & 0xffff0000U) | (loaded & 0xffffU);
    word(out, lane, 1) = (before & 0xffffU) | (loaded << 16U);
    word(out, lane, 2) = (before & 0xffff0000U) | (loaded & 0xffU);
  }
  return out;
}

constexpr std::array<std::array<float, 1>, 10> kFractions = {{{0.3125F},
                                                              {-0.6875F},
                                                              {2},
                                                              {-2},
                                                              {2.5F},
                                                              {3.5F},
                                                              {300},
                                                              {0x1p-17F},
                                                              {-0x1.8p-15F},
                                                              {254.51F}}};
LaneWords fractions_expected(Arch /*arch*/, const LaneWords& in) {
  LaneWords out = no_words();
  const auto rounded = [](double value, double low, double high, double scale) {
    return static_cast<u32>(
        static_cast<std::int32_t>(std::nearbyint(std::clamp(value, low, high) * scale)));
  };
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    const double value = double{value_of(word(in, lane, 0))};
    word(out, lane, 0) = rounded(value, -1, 1, 32767) & 0xffffU;
    word(out, lane, 1) = rounded(value, 0, 1, 65535);
    word(out, lane, 2) = rounded(value, 0, 255, 1);
  }
  return out;
}

constexpr auto kBits = Assumption::Compare::bits;
constexpr std::array<Assumption, 12> kNumberTable = {{
    {"FP8_RANGE", "fp8_range", true, false, 4, kBits, table_inputs<kRange, 1>, range_expected},
    {"STOCHASTIC_ROUNDING", "stochastic_rounding", true, false, 1, kBits, fraction_inputs,
     stochastic_expected},
    {"STOCHASTIC_PASSES", "stochastic_passes", false, false, 7, kBits, fraction_inputs,
     passes_expected},
    {"HALF_ROUNDING", "half_rounding", true, false, 2, kBits, fraction_inputs, nearest_expected},
    {"PACKED_F32_CONSTANT", "packed_constant", true, false, 4, kBits, packed_inputs,
     packed_expected},
    {"SPECIAL_DENORMALS", "special_denormals", true, false, 5, Assumption::Compare::one_ulp,
     table_inputs<kSpecial, 1>, special_expected},
    {"DIV_FIXUP_RANGE", "div_fixup", true, false, 1, kBits, table_inputs<kFixups, 3>,
     table_expected<kFixups>},
    {"DIV_SCALE_DOWN", "div_scale", true, false, 1, kBits, table_inputs<kScales, 2>,
     table_expected<kScales>},
    {"DIV_FMAS_SCALE", "div_fmas", true, false, 1, kBits, table_inputs<kSums, 3>,
     table_expected<kSums>},
    {"UPPER_HALF", "upper_half", true, false, 3, kBits, scattered_words, halves_expected},
    {"D16_OTHER_HALF", "d16_other_half", true, false, 3, kBits, scattered_words,
     other_halves_expected},
    {"NORM_ROUNDING", "norm_rounding", true, false, 3, kBits, table_inputs<kFractions, 1>,
     fractions_expected},
}};

}  // namespace

std::span<const Assumption> number_assumptions() {
  return kNumberTable;
}

}  // namespace mla::hip

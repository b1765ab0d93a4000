// Owns: the fused steps of a CDNA3 matrix instruction, bit by bit.
//
// The model is the one published as MMA-Sim (arXiv 2511.10909), where it agreed with an MI300X on
// every tested input. The products of one step are exact; each is cut towards zero at 24 fraction
// bits below the largest product exponent, and the cut products are summed exactly. The sum is then
// cut downwards at 31 fraction bits, and the accumulator downwards at 24, both below the larger of
// the two exponents; their sum is rounded once, to nearest even. 8-bit floats sum the even and the
// odd products apart, cut both downwards at 24 bits, and lose an accumulator that lies more than 25
// exponents below.
//
// Compiled for each host path: sixteen columns at a time fill its vectors.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace mla::gfx {
namespace {

enum class ExactKind { wide, fp8 };

// The sources of rows and columns of a result: a[k * stride + row] and b[k * stride + column] for
// k < depth, of which `group` make one step. `lowest` is the exponent of the smallest normal number
// of a source format.
struct ExactSources {
  const float* a;
  const float* b;
  std::size_t stride;
  unsigned depth, group;
  int lowest_a, lowest_b;
  ExactKind kind;
};

constexpr unsigned kDeepest = 32;

// Value = significand * 2^exponent of some columns: the significand is in [1, 2), smaller for
// denormals, signed. Exponents are as wide as significands, which vectors ask for.
template <unsigned columns>
struct Numbers {
  double significand[columns];
  std::int64_t exponent[columns];
};

// 2^n for |n| < 1000, without a call.
inline double power(std::int64_t n) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
}

// Zero takes part with the exponent -126, whatever its format. Sources are f32: normal as f64.
template <unsigned columns>
inline void split(const float* values, std::int64_t lowest, Numbers<columns>& to) {
  for (unsigned n = 0; n < columns; ++n) {
    const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(values[n]));
    std::int64_t exponent = std::max(static_cast<std::int64_t>(bits >> 52 & 0x7ff) - 1023, lowest);
    exponent = bits << 1 == 0 ? -126 : exponent;
    to.significand[n] = static_cast<double>(values[n]) * power(-exponent);
    to.exponent[n] = exponent;
  }
}

// Sums stay below 2^53, and what is far below the top is as good as gone.
constexpr std::int64_t kFarBelow = -200;

inline double scaled(double significand, std::int64_t bits) {
  return significand * power(std::max(bits, kFarBelow));
}

// Downwards at `bits` fraction bits below 2^top: the result is in units of 2^top.
inline double cut_down(double significand, std::int64_t exponent, int bits, std::int64_t top) {
  return std::floor(scaled(significand, bits + exponent - top)) * power(-bits);
}

// Products a[k] * b[k] for first <= k < count, every `stride`-th.
template <unsigned columns>
inline void fused_sum(const Numbers<1>* a, const Numbers<columns>* b, unsigned first,
                      unsigned count, unsigned stride, Numbers<columns>& sum) {
  std::fill_n(sum.exponent, columns, std::numeric_limits<std::int64_t>::min());
  std::fill_n(sum.significand, columns, 0.0);
  for (unsigned k = first; k < count; k += stride) {
    for (unsigned n = 0; n < columns; ++n) {
      sum.exponent[n] = std::max(sum.exponent[n], a[k].exponent[0] + b[k].exponent[n]);
    }
  }
  for (unsigned k = first; k < count; k += stride) {
    for (unsigned n = 0; n < columns; ++n) {
      const std::int64_t below = a[k].exponent[0] + b[k].exponent[n] - sum.exponent[n];
      sum.significand[n] +=
          std::trunc(scaled(a[k].significand[0] * b[k].significand[n], 24 + below));
    }
  }
  for (double& significand : sum.significand) significand *= 0x1p-24;
}

template <unsigned columns>
inline void step(const Numbers<1>* a, const Numbers<columns>* b, unsigned count, ExactKind kind,
                 float* c) {
  const bool fp8 = kind == ExactKind::fp8;
  Numbers<columns> sum;
  fused_sum(a, b, 0, count, fp8 ? 2 : 1, sum);
  if (fp8) {
    Numbers<columns> odd;
    fused_sum(a, b, 1, count, 2, odd);
    for (unsigned n = 0; n < columns; ++n) {
      const std::int64_t top = std::max(sum.exponent[n], odd.exponent[n]);
      sum.significand[n] = cut_down(sum.significand[n], sum.exponent[n], 24, top) +
                           cut_down(odd.significand[n], odd.exponent[n], 24, top);
      sum.exponent[n] = top;
    }
  }
  Numbers<columns> addend;
  split(c, -126, addend);
  const std::int64_t lost_below = fp8 ? -25 : std::numeric_limits<std::int32_t>::min();
  for (unsigned n = 0; n < columns; ++n) {
    const std::int64_t top = std::max(sum.exponent[n], addend.exponent[n]);
    const double added = cut_down(addend.significand[n], addend.exponent[n], 24, top);
    const double kept = addend.exponent[n] - top < lost_below ? 0.0 : 1.0;  // no branch
    const double total = cut_down(sum.significand[n], sum.exponent[n], 31, top) + kept * added;
    c[n] = static_cast<float>(total * power(top));
  }
}

// Infinities and NaN follow the sum in f64; so does a product beyond f32. `first`: the step's.
inline bool special(const ExactSources& s, unsigned first, float c, float& out) {
  double sum = c;
  bool above = false, below = false;
  for (unsigned k = first; k < first + s.group; ++k) {
    const double product =
        static_cast<double>(s.a[k * s.stride]) * static_cast<double>(s.b[k * s.stride]);
    sum += product;
    above = above || product >= 0x1p128;
    below = below || product <= -0x1p128;
  }
  if (!std::isfinite(sum)) {
    out = static_cast<float>(sum);
    return true;
  }
  if (!above && !below) return false;
  out = above && below ? std::numeric_limits<float>::quiet_NaN()
                       : std::copysign(std::numeric_limits<float>::infinity(), above ? 1.F : -1.F);
  return true;
}

template <unsigned columns>
inline void steps(const ExactSources& s, const Numbers<columns>* b, std::int64_t largest_b,
                  float* c) {
  std::array<Numbers<1>, kDeepest> a;
  std::int64_t largest = -1023;
  for (unsigned k = 0; k < s.depth; ++k) {
    split(s.a + k * s.stride, s.lowest_a, a[k]);
    largest = std::max(largest, a[k].exponent[0]);
  }
  const bool safe = largest + largest_b + 2 <= 128;  // every product is finite and below 2^128
  for (unsigned first = 0; first < s.depth; first += s.group) {
    std::array<float, columns> before;
    std::copy_n(c, columns, before.data());
    step(a.data() + first, b + first, s.group, s.kind, c);
    ExactSources at = s;
    for (unsigned n = 0; n < columns; ++n, ++at.b)
      if (!safe || !std::isfinite(before[n])) special(at, first, before[n], c[n]);
  }
}

template <unsigned columns>
inline std::int64_t split_columns(const ExactSources& s, Numbers<columns>* b) {
  std::int64_t largest = -1023;
  for (unsigned k = 0; k < s.depth; ++k) {
    split(s.b + k * s.stride, s.lowest_b, b[k]);
    for (const std::int64_t exponent : b[k].exponent) largest = std::max(largest, exponent);
  }
  return largest;
}

// One element, onto c.
inline float exact_element(const ExactSources& s, float c) {
  std::array<Numbers<1>, kDeepest> b;
  const std::int64_t largest = split_columns(s, b.data());
  steps(s, b.data(), largest, &c);
  return c;
}

// Four rows of sixteen columns, as bits; row r is from[r] onto to[r], which may be the same.
inline void exact_tile(ExactSources s, const std::uint32_t* const (&from)[4],
                       std::uint32_t* const (&to)[4]) {
  constexpr unsigned columns = 16;
  std::array<Numbers<columns>, kDeepest> b;
  const std::int64_t largest = split_columns(s, b.data());
  for (unsigned r = 0; r < 4; ++r, ++s.a) {
    std::array<float, columns> c;
    for (unsigned n = 0; n < columns; ++n) c[n] = std::bit_cast<float>(from[r][n]);
    steps(s, b.data(), largest, c.data());
    for (unsigned n = 0; n < columns; ++n) to[r][n] = std::bit_cast<std::uint32_t>(c[n]);
  }
}

}  // namespace
}  // namespace mla::gfx

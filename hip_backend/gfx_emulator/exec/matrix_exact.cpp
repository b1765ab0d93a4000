#include "hip_backend/gfx_emulator/exec/matrix_exact.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace mla::gfx {
namespace {

constexpr unsigned most = 16;

struct Number {
  double significand;  // in [1, 2), smaller for denormals, signed
  int exponent;
};

// 2^n for |n| < 1000, without a call.
double power(int n) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
}

// Zero takes part with the exponent -126, whatever its format. Sources are f32: normal as f64.
Number split(double value, int lowest) {
  if (value == 0) return {0, -126};
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int exponent = std::max(static_cast<int>(bits >> 52 & 0x7ff) - 1023, lowest);
  return {value * power(-exponent), exponent};
}

// Sums stay below 2^53, and what is far below the top is as good as gone.
constexpr int far_below = 200;

double scaled(Number x, int bits, int top) {
  return x.significand * power(std::max(bits + x.exponent - top, -far_below));
}

double cut_to_zero(Number x, int bits, int top) {
  return std::trunc(scaled(x, bits, top)) * power(-bits);
}

// Downwards at `bits` fraction bits below 2^top: the result is in units of 2^top.
double cut_down(Number x, int bits, int top) {
  return std::floor(scaled(x, bits, top)) * power(-bits);
}

Number fused_sum(const std::array<Number, most>& terms, unsigned first, unsigned count,
                 unsigned stride) {
  int top = std::numeric_limits<int>::min();
  for (unsigned k = first; k < count; k += stride) top = std::max(top, terms[k].exponent);
  double sum = 0;
  for (unsigned k = first; k < count; k += stride) {
    sum += cut_to_zero(terms[k], 24, top);
  }
  return {sum, top};
}

// Infinities and NaN follow the sum in f64; so does a product beyond f32.
bool special(const ExactStep& step, float c, float& out) {
  double sum = c;
  bool above = false, below = false;
  for (unsigned k = 0; k < step.count; ++k) {
    const double product = static_cast<double>(step.a[k * step.a_stride]) *
                           static_cast<double>(step.b[k * step.b_stride]);
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

}  // namespace

float exact_step(const ExactStep& step, float c) {
  float out = 0;
  if (special(step, c, out)) return out;
  std::array<Number, most> terms{};
  for (unsigned k = 0; k < step.count; ++k) {
    const Number a = split(step.a[k * step.a_stride], step.lowest_a);
    const Number b = split(step.b[k * step.b_stride], step.lowest_b);
    terms[k] = {a.significand * b.significand, a.exponent + b.exponent};
  }
  const Number addend = split(c, -126);
  Number sum{};
  if (step.kind == ExactKind::fp8) {
    const Number even = fused_sum(terms, 0, step.count, 2),
                 odd = fused_sum(terms, 1, step.count, 2);
    sum.exponent = std::max(even.exponent, odd.exponent);
    sum.significand = cut_down(even, 24, sum.exponent) + cut_down(odd, 24, sum.exponent);
  } else {
    sum = fused_sum(terms, 0, step.count, 1);
  }
  const int top = std::max(sum.exponent, addend.exponent);
  const bool lost = step.kind == ExactKind::fp8 && addend.exponent < top - 25;
  const double total = cut_down(sum, 31, top) + (lost ? 0.0 : cut_down(addend, 24, top));
  return static_cast<float>(std::ldexp(total, top));
}

}  // namespace mla::gfx

// Sine, cosine, tangent and their inverses, as pairs.
#pragma once

#include "exponential.h"

namespace mla_hip {

constexpr Pair pi = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};
constexpr Pair half_pi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
constexpr double half_pi_rest = -0x1.f1976b7ed8fbcp-110;

// An angle as n * pi / 2 + r, |r| <= pi / 4. Of n the last two bits matter.
struct Angle {
  int n;
  Pair r;
};

// A large angle is multiplied with the bits of 2 / pi that do not make whole turns.
MLA_MATH Angle reduce_large(double x) {
  constexpr unsigned long long bits[] = {0,
                                         0xa2f9836e4e441529,
                                         0xfc2757d1f534ddc0,
                                         0xdb6295993c439041,
                                         0xfe5163abdebbc561,
                                         0xb7246e3a424dd2e0,
                                         0x06492eea09d1921c,
                                         0xfe1deb1cb129a73e,
                                         0xe88235f52ebb4484,
                                         0xe99c7026b45f7e41,
                                         0x3991d639835339f4,
                                         0x9c845f8bbdf9283b,
                                         0x1ff897ffde05980f,
                                         0xef2f118b5a0a6d1f,
                                         0x6d367ecf27cb09b7,
                                         0x4f463f669e5fea2d,
                                         0x7527bac7ebe5f17b,
                                         0x3d0739f78a5292ea,
                                         0x6bfb5fb11f8d5d08,
                                         0x56033046fc7b6bab};
  int exponent;
  const double m = __builtin_frexp(__builtin_fabs(x), &exponent);
  const auto whole = static_cast<unsigned long long>(m * 0x1p53);
  const unsigned skip = static_cast<unsigned>(exponent - 53 - 2 + 64);
  unsigned long long window[3], product[3] = {};
  for (unsigned k = 0; k < 3; ++k) {
    const unsigned long long first = bits[skip / 64 + k], next = bits[skip / 64 + k + 1];
    window[k] = skip % 64 == 0 ? first : first << (skip % 64) | next >> (64 - skip % 64);
  }
  // The last 192 bits of whole * window.
  unsigned __int128 carry = 0;
  for (int k = 2; k >= 0; --k) {
    carry += static_cast<unsigned __int128>(window[k]) * whole;
    product[k] = static_cast<unsigned long long>(carry);
    carry >>= 64;
  }
  int n = static_cast<int>(product[0] >> 62);
  product[0] = product[0] << 2 | product[1] >> 62;
  product[1] = product[1] << 2 | product[2] >> 62;
  product[2] <<= 2;
  const bool above_half = product[0] >> 63 != 0;
  if (above_half) {
    ++n;
    for (auto& word : product) word = ~word;
  }
  Pair part = {0, 0};
  double weight = 1;
  for (const unsigned long long word : product) {
    part = add(part, static_cast<double>(word >> 32) * (weight *= 0x1p-32));
    part = add(part, static_cast<double>(word & 0xffffffff) * (weight *= 0x1p-32));
  }
  const Pair r = multiply(above_half ? negative(part) : part, half_pi);
  return x < 0 ? Angle{-n, negative(r)} : Angle{n, r};
}
MLA_MATH Angle reduce(double x) {
  MLA_AS_WRITTEN
  if (__builtin_fabs(x) >= 0x1p30) return reduce_large(x);
  const double n = __builtin_rint(x * 0x1.45f306dc9c883p-1);
  const Pair first = exact_product(-n, half_pi.hi);
  const Pair rest = exact_sum(x + first.hi, first.lo);
  Pair r = add(rest, exact_product(-n, half_pi.lo));
  r = add(r, -n * half_pi_rest);
  return {static_cast<int>(n), r};
}
// The same for sin(pi * x): exact but for the product.
MLA_MATH Angle reduce_half_turns(double x) {
  x -= 2 * __builtin_trunc(x * 0.5);
  const double n = __builtin_rint(2 * x);
  return {static_cast<int>(n), multiply(pi, x - 0.5 * n)};
}

MLA_MATH Pair small_sine(Pair r) {
  constexpr double factors[] = {-1. / 6,
                                1. / 120,
                                -1. / 5040,
                                1. / 362880,
                                -1. / 39916800,
                                1. / 6227020800.,
                                -1. / 1307674368000.,
                                1. / 355687428096000.,
                                -1. / 121645100408832000.};
  const double z = r.hi * r.hi;
  return quick_sum(r.hi, r.lo * (1 - 0.5 * z) + r.hi * z * polynomial(factors, z));
}
MLA_MATH Pair small_cosine(Pair r) {
  constexpr double factors[] = {
      1. / 24,         -1. / 720,          1. / 40320,           -1. / 3628800,
      1. / 479001600., -1. / 87178291200., 1. / 20922789888000., -1. / 6402373705728000.};
  const Pair z = exact_product(r.hi, r.hi);
  const Pair upper = quick_sum(1.0, -0.5 * z.hi);
  const double lower = z.hi * z.hi * polynomial(factors, z.hi) - r.hi * r.lo - 0.5 * z.lo;
  return quick_sum(upper.hi, upper.lo + lower);
}
MLA_MATH Pair sine(Angle a) {
  const Pair size = (a.n & 1) != 0 ? small_cosine(a.r) : small_sine(a.r);
  return (a.n & 2) != 0 ? negative(size) : size;
}
MLA_MATH Pair cosine(Angle a) {
  return sine({a.n + 1, a.r});
}
MLA_MATH bool is_finite(double x) {
  return __builtin_fabs(x) < infinity;
}

// atan of 0 to 1: beside the nearest eighth, a series.
MLA_MATH Pair small_arctangent(Pair t) {
  constexpr Pair eighths[] = {{0, 0},
                              {0x1.fd5ba9aac2f6ep-4, -0x1.cd37686760c17p-59},
                              {0x1.f5b75f92c80ddp-3, 0x1.8ab6e3cf7afbdp-57},
                              {0x1.6f61941e4def1p-2, -0x1.c63aae6f6e918p-56},
                              {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
                              {0x1.1e00babdefeb4p-1, -0x1.928df287a668fp-58},
                              {0x1.4978fa3269ee1p-1, 0x1.2419a87f2a458p-56},
                              {0x1.700a7c5784634p-1, -0x1.8c34d25aadef6p-56},
                              {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55}};
  constexpr double factors[] = {-1. / 3, 1. / 5, -1. / 7, 1. / 9, -1. / 11, 1. / 13, -1. / 15};
  const double nearest = __builtin_rint(8 * t.hi);
  Pair u = t;
  if (nearest != 0) u = divide(add(t, -0.125 * nearest), add(multiply(t, 0.125 * nearest), 1.0));
  const double z = u.hi * u.hi;
  const Pair near = quick_sum(u.hi, u.lo + u.hi * z * polynomial(factors, z));
  return add(eighths[static_cast<int>(nearest)], near);
}
// The angle of (x, y) in the first quadrant, neither both 0 nor infinite.
MLA_MATH Pair arctangent(Pair y, Pair x) {
  if (y.hi <= x.hi) return small_arctangent(divide(y, x));
  return add(half_pi, negative(small_arctangent(divide(x, y))));
}
MLA_MATH double arctangent2(double y, double x) {
  if (x != x || y != y) return x + y;
  double a = __builtin_fabs(y), b = __builtin_fabs(x);
  Pair angle;
  if (a == 0) {
    angle = {0, 0};
  } else if (a == infinity || b == infinity) {
    angle = a == b ? scaled(half_pi, 0.5) : a == infinity ? half_pi : Pair{0, 0};
  } else {
    int of_a, of_b;
    (void)__builtin_frexp(a, &of_a);
    (void)__builtin_frexp(b, &of_b);
    const int shift = of_a > of_b || b == 0 ? of_a : of_b;
    if (__builtin_signbit(x) == 0 && b != 0 && of_a - of_b < -60)
      return __builtin_copysign(a / b, y);
    a = __builtin_ldexp(a, -shift);
    b = __builtin_ldexp(b, -shift);
    angle = arctangent({a, 0}, {b, 0});
  }
  if (__builtin_signbit(x) != 0) angle = add(pi, negative(angle));
  return __builtin_copysign(angle.hi, y);
}
// sqrt(1 - x * x), without a loss near 1.
MLA_MATH Pair other_side(double x) {
  return square_root(multiply(exact_sum(1.0, -x), exact_sum(1.0, x)));
}
MLA_MATH double arcsine(double x) {
  const double size = __builtin_fabs(x);
  if (!(size <= 1)) return __builtin_nan("");
  if (size < 0x1p-30) return __builtin_fma(x * x, x * (1. / 6), x);
  return __builtin_copysign(arctangent({size, 0}, other_side(size)).hi, x);
}
MLA_MATH double arccosine(double x) {
  const double size = __builtin_fabs(x);
  if (!(size <= 1)) return __builtin_nan("");
  const Pair angle = arctangent(other_side(size), {size, 0});
  return x < 0 ? add(pi, negative(angle)).hi : angle.hi;
}

}  // namespace mla_hip

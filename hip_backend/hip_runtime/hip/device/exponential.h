// Exponentials and logarithms, as pairs: from them come powers and hyperbolic functions.
#pragma once

#include "pair.h"

namespace mla_hip {

// The upper part has 42 bits, so that its product with an exponent is exact.
constexpr double ln2_upper = 0x1.62e42fefa38p-1, ln2_lower = 0x1.ef35793c7673p-45;
constexpr double one_by_ln2 = 0x1.71547652b82fep+0;
constexpr double infinity = __builtin_huge_val();

// e^r - 1 for |r| <= 0.35: two terms as a pair, the others in double.
MLA_MATH Pair small_expm1(Pair r) {
  constexpr double factors[] = {
      1. / 6,           1. / 24,           1. / 120,           1. / 720,      1. / 5040,
      1. / 40320,       1. / 362880,       1. / 3628800,       1. / 39916800, 1. / 479001600.,
      1. / 6227020800., 1. / 87178291200., 1. / 1307674368000.};
  const Pair square = multiply(r, r);
  return add(add(r, scaled(square, 0.5)), square.hi * r.hi * polynomial(factors, r.hi));
}
// x - k * ln 2, and k.
MLA_MATH Pair without_ln2(Pair x, double& k) {
  k = __builtin_rint(x.hi * one_by_ln2);
  const Pair rest = exact_sum(x.hi - k * ln2_upper, x.lo);
  return add(rest, exact_product(-k, ln2_lower));
}
// e^x = pair * 2^k.
MLA_MATH Pair exponential(Pair x, int& k) {
  double whole;
  const Pair r = without_ln2(x, whole);
  k = static_cast<int>(whole);
  return add(small_expm1(r), 1.0);
}
MLA_MATH double exponential(Pair x) {
  if (x.hi != x.hi) return x.hi;
  if (x.hi > 710) return infinity;
  if (x.hi < -746) return 0;
  int k;
  const Pair of = exponential(x, k);
  return __builtin_ldexp(of.hi, k);
}
// e^x - 1, for -40 < x < 40.
MLA_MATH Pair expm1_pair(Pair x) {
  double k;
  const Pair r = small_expm1(without_ln2(x, k));
  const double power = __builtin_ldexp(1.0, static_cast<int>(k));
  return k == 0 ? r : add(exact_sum(power, -1.0), scaled(r, power));
}

// ln of a pair from 0.7 to 1.42 which is 1 + f, plus k * ln 2.
MLA_MATH Pair logarithm_near_1(Pair f, double k) {
  constexpr double factors[] = {2. / 5,  2. / 7,  2. / 9,  2. / 11, 2. / 13, 2. / 15,
                                2. / 17, 2. / 19, 2. / 21, 2. / 23, 2. / 25, 2. / 27};
  const Pair s = divide(f, add(f, 2.0));
  const Pair z = multiply(s, s);
  const Pair third =
      add({0x1.5555555555555p-1, 0x1.5555555555555p-55}, z.hi * polynomial(factors, z.hi));
  const Pair near = add(scaled(s, 2), multiply(multiply(s, z), third));
  if (k == 0) return near;
  return add(add(exact_product(k, ln2_lower), k * ln2_upper), near);
}
// The exponent that leaves 0.707 to 1.414 of a positive number.
MLA_MATH int exponent_of(double x) {
  int k;
  const double m = __builtin_frexp(x, &k);
  return m < 0.70710678118654752 ? k - 1 : k;
}
// ln of a positive number.
MLA_MATH Pair logarithm(Pair x) {
  const int k = exponent_of(x.hi);
  const double m = __builtin_ldexp(x.hi, -k);
  return logarithm_near_1(exact_sum(m - 1, __builtin_ldexp(x.lo, -k)), k);
}
// ln(1 + x) for x > -1.
MLA_MATH Pair log1p_pair(Pair x) {
  Pair sum = exact_sum(1.0, x.hi);
  sum.lo += x.lo;
  const int k = exponent_of(sum.hi);
  if (k == 0) return logarithm_near_1(x, 0);
  const double m = __builtin_ldexp(sum.hi, -k);
  return logarithm_near_1(exact_sum(m - 1, __builtin_ldexp(sum.lo, -k)), k);
}
// What ln gives for 0, negative numbers, infinity and NaN.
MLA_MATH bool has_logarithm(double x) {
  return x > 0 && x < infinity;
}
MLA_MATH double no_logarithm(double x) {
  if (x == 0) return -infinity;
  return x > 0 ? x : __builtin_nan("");
}

MLA_MATH double power(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return x + y;
  const bool whole = __builtin_trunc(y) == y;
  const double half = y * 0.5;
  const bool odd = whole && __builtin_trunc(half) != half;
  const double size = __builtin_fabs(x);
  double result;
  if (size == 1) {
    result = 1;
  } else if (size == 0 || size == infinity) {
    result = (size == 0) == (y > 0) ? 0 : infinity;
  } else if (__builtin_fabs(y) == infinity) {
    result = (size > 1) == (y > 0) ? infinity : 0;
  } else if (__builtin_fabs(y) > 0x1p70) {
    result = (size > 1) == (y > 0) ? infinity : 0;
  } else {
    result = exponential(multiply(logarithm({size, 0}), y));
  }
  if (__builtin_signbit(x) == 0) return result;
  if (!whole && size != 0 && size != infinity) return __builtin_nan("");
  return odd ? -result : result;
}

// x^(1/3) for a positive normal number: an estimate of 20 bits, then two steps of Newton's.
MLA_MATH Pair cube_root(double x) {
  MLA_AS_WRITTEN
  int k;
  const double m = __builtin_frexp(x, &k);
  const int thirds = (k + 3000) / 3 - 1000;
  const double of = __builtin_ldexp(m, k - 3 * thirds);  // 0.5 to 4
  double root = __builtin_exp2f(__builtin_log2f(static_cast<float>(of)) * 0x1.555556p-2f);
  root -= (root * root * root - of) / (3 * root * root);
  const Pair cube = multiply(exact_product(root, root), root);
  const double step = ((of - cube.hi) - cube.lo) / (3 * root * root);
  const Pair sum = quick_sum(root, step);
  return {__builtin_ldexp(sum.hi, thirds), __builtin_ldexp(sum.lo, thirds)};
}

}  // namespace mla_hip

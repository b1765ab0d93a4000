// The functions that clang's own HIP headers call for double: each is rounded once, from a pair.
#pragma once

#include "special.h"

#define MLA_PRIVATE __attribute__((opencl_private))

namespace mla_hip {

// The remainder of division, and the last three bits of the quotient, for positive finite numbers.
MLA_MATH double positive_remainder(double x, double y) {
  while (x >= y) {
    int of_x, of_y;
    (void)__builtin_frexp(x, &of_x);
    (void)__builtin_frexp(y, &of_y);
    const double step = of_x - of_y > 50 ? __builtin_ldexp(y, of_x - of_y - 50) : y;
    x = __builtin_fma(-__builtin_trunc(x / step), step, x);
    if (x < 0) x += step;
  }
  return x;
}
MLA_MATH double remainder_to_zero(double x, double y) {
  if (!is_finite(x) || y != y || y == 0) return __builtin_nan("");
  if (!is_finite(y)) return x;
  return __builtin_copysign(positive_remainder(__builtin_fabs(x), __builtin_fabs(y)), x);
}
MLA_MATH double remainder_to_nearest(double x, double y, int& quotient) {
  quotient = 0;
  if (!is_finite(x) || y != y || y == 0) return __builtin_nan("");
  if (!is_finite(y)) return x;
  const double down = __builtin_fabs(y) > 0x1p1000 ? 0x1p-60 : 1;
  const double size = __builtin_fabs(y) * down;
  double rest = __builtin_fabs(x);
  rest = down == 1 || rest > 0x1p900 ? positive_remainder(rest * down, 8 * size) : rest * down;
  for (int part = 4; part > 0; part /= 2) {
    if (rest < part * size) continue;
    rest -= part * size;
    quotient += part;
  }
  const double other = size - rest;
  if (rest > other || (rest == other && quotient % 2 == 1)) {
    rest = -other;
    ++quotient;
  }
  quotient &= 7;
  if (__builtin_signbit(x) != __builtin_signbit(y)) quotient = -quotient;
  rest /= down;
  if (rest == 0) return __builtin_copysign(0.0, x);
  return __builtin_signbit(x) != 0 ? -rest : rest;
}

// The length of a vector, as a pair times 2^k; the largest part is neither 0 nor infinite.
MLA_MATH Pair length(double x, double y, double z, double w, int& k) {
  const double most = __builtin_fmax(__builtin_fmax(__builtin_fabs(x), __builtin_fabs(y)),
                                     __builtin_fmax(__builtin_fabs(z), __builtin_fabs(w)));
  (void)__builtin_frexp(most, &k);
  Pair sum = {0, 0};
  for (const double part : {x, y, z, w}) {
    const double small = __builtin_ldexp(part, -k);
    sum = add(sum, exact_product(small, small));
  }
  return square_root(sum);
}
MLA_MATH bool any_infinite(double x, double y, double z, double w) {
  return __builtin_isinf(x) || __builtin_isinf(y) || __builtin_isinf(z) || __builtin_isinf(w);
}
MLA_MATH double length(double x, double y, double z, double w) {
  if (any_infinite(x, y, z, w)) return infinity;
  if (x == 0 && y == 0 && z == 0 && w == 0) return 0;
  if (x != x || y != y || z != z || w != w) return __builtin_nan("");
  int k;
  const Pair of = length(x, y, z, w, k);
  return __builtin_ldexp(of.hi, k);
}
MLA_MATH double inverse_length(double x, double y, double z, double w) {
  if (any_infinite(x, y, z, w)) return 0;
  if (x == 0 && y == 0 && z == 0 && w == 0) return infinity;
  if (x != x || y != y || z != z || w != w) return __builtin_nan("");
  int k;
  const Pair of = length(x, y, z, w, k);
  return __builtin_ldexp(divide(Pair{1, 0}, of).hi, -k);
}

MLA_MATH double exponential_minus_1(double x) {
  if (x > 40) return exponential(Pair{x, 0});
  if (x < -40) return -1;
  if (!(__builtin_fabs(x) > 0x1p-54)) return x;
  return expm1_pair({x, 0}).hi;
}
MLA_MATH double hyperbolic_sine(double x) {
  const double size = __builtin_fabs(x);
  if (!(size > 0x1p-28)) return __builtin_fma(x * x, x * (1. / 6), x);
  if (size < 38) {
    const Pair e = expm1_pair({size, 0});
    return __builtin_copysign(0.5 * add(e, divide(e, add(e, 1.0))).hi, x);
  }
  if (size > 711) return __builtin_copysign(infinity, x);
  int k;
  const Pair e = exponential({size, 0}, k);
  return __builtin_copysign(__builtin_ldexp(e.hi, k - 1), x);
}
MLA_MATH double hyperbolic_cosine(double x) {
  const double size = __builtin_fabs(x);
  if (size > 711) return infinity;
  if (x != x) return x;
  int k;
  const Pair e = exponential({size, 0}, k);
  if (size > 38) return __builtin_ldexp(e.hi, k - 1);
  const Pair whole = scaled(e, __builtin_ldexp(1.0, k));
  return 0.5 * add(whole, divide(Pair{1, 0}, whole)).hi;
}
MLA_MATH double hyperbolic_tangent(double x) {
  const double size = __builtin_fabs(x);
  if (!(size > 0x1p-28)) return x;
  if (size > 19.5) return __builtin_copysign(1.0, x);
  const Pair e = expm1_pair({2 * size, 0});
  return __builtin_copysign(divide(e, add(e, 2.0)).hi, x);
}
MLA_MATH double inverse_hyperbolic_sine(double x) {
  const double size = __builtin_fabs(x);
  if (!(size > 0x1p-28 && size < infinity)) return x;
  if (size > 0x1p60) {
    const Pair whole = add(logarithm({size, 0}), Pair{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56});
    return __builtin_copysign(whole.hi, x);
  }
  const Pair square = exact_product(size, size);
  const Pair root = square_root(add(square, 1.0));
  const Pair over = add(divide(square, add(root, 1.0)), size);
  return __builtin_copysign(log1p_pair(over).hi, x);
}
MLA_MATH double inverse_hyperbolic_cosine(double x) {
  if (!(x >= 1)) return __builtin_nan("");
  if (x == infinity || x == 1) return x - (x == 1);
  if (x > 0x1p60)
    return add(logarithm({x, 0}), Pair{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}).hi;
  const Pair over = exact_sum(x, -1.0);
  const Pair root = square_root(multiply(over, add(over, 2.0)));
  return log1p_pair(add(over, root)).hi;
}
MLA_MATH double inverse_hyperbolic_tangent(double x) {
  const double size = __builtin_fabs(x);
  if (!(size <= 1)) return __builtin_nan("");
  if (size == 1) return __builtin_copysign(infinity, x);
  if (size < 0x1p-28) return __builtin_fma(x * x, x * (1. / 3), x);
  const Pair ratio = divide(Pair{2 * size, 0}, exact_sum(1.0, -size));
  return __builtin_copysign(0.5 * log1p_pair(ratio).hi, x);
}
MLA_MATH double cube_root_of(double x, bool inverse) {
  if (x != x) return x;
  if (x == 0) return inverse ? __builtin_copysign(infinity, x) : x;
  if (!is_finite(x)) return inverse ? __builtin_copysign(0.0, x) : x;
  const Pair root = cube_root(__builtin_fabs(x));
  return __builtin_copysign(inverse ? divide(Pair{1, 0}, root).hi : root.hi, x);
}
MLA_MATH double inverse_root(double x) {
  if (x == 0) return __builtin_copysign(infinity, x);
  if (!(x > 0)) return __builtin_nan("");
  if (x == infinity) return 0;
  int k;
  (void)__builtin_frexp(x, &k);
  k &= ~1;
  return __builtin_ldexp(divide(Pair{1, 0}, square_root({__builtin_ldexp(x, -k), 0})).hi, -k / 2);
}
MLA_MATH double scaled_logarithm(double x, Pair factor) {
  return has_logarithm(x) ? multiply(logarithm({x, 0}), factor).hi : no_logarithm(x);
}

template <class T, class Bits>
MLA_MATH T next_after(T from, T to) {
  if (from != from || to != to) return from + to;
  if (from == to) return to;
  Bits bits;
  if (from == 0) {
    bits = 1;
    T least;
    __builtin_memcpy(&least, &bits, sizeof bits);
    return __builtin_signbit(to) != 0 ? -least : least;
  }
  __builtin_memcpy(&bits, &from, sizeof bits);
  bits += (to > from) == (from > 0) ? 1 : -1;
  __builtin_memcpy(&from, &bits, sizeof bits);
  return from;
}

}  // namespace mla_hip

#define MLA_F64(name) extern "C" __device__ inline double __ocml_##name##_f64
#define MLA_FINITE(x) \
  if (!mla_hip::is_finite(x)) return __builtin_nan("")
MLA_F64(exp)(double x) {
  return mla_hip::exponential(mla_hip::Pair{x, 0});
}
MLA_F64(exp2)(double x) {
  if (!(__builtin_fabs(x) < 1100)) return x != x ? x : x > 0 ? mla_hip::infinity : 0;
  const double whole = __builtin_rint(x);
  const mla_hip::Pair ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
  int k;
  const auto part = mla_hip::exponential(mla_hip::multiply(ln2, x - whole), k);
  return __builtin_ldexp(part.hi, k + static_cast<int>(whole));
}
MLA_F64(exp10)(double x) {
  if (!(__builtin_fabs(x) < 400)) return x != x ? x : x > 0 ? mla_hip::infinity : 0;
  const mla_hip::Pair ln10 = {0x1.26bb1bbb55516p+1, -0x1.f48ad494ea3e9p-53};
  return mla_hip::exponential(mla_hip::multiply(ln10, x));
}
MLA_F64(expm1)(double x) {
  return mla_hip::exponential_minus_1(x);
}
MLA_F64(log)(double x) {
  return mla_hip::has_logarithm(x) ? mla_hip::logarithm({x, 0}).hi : mla_hip::no_logarithm(x);
}
MLA_F64(log2)(double x) {
  return mla_hip::scaled_logarithm(x, {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56});
}
MLA_F64(log10)(double x) {
  return mla_hip::scaled_logarithm(x, {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57});
}
MLA_F64(log1p)(double x) {
  if (!(__builtin_fabs(x) > 0x1p-54)) return x;
  return x > -1 && x < mla_hip::infinity ? mla_hip::log1p_pair({x, 0}).hi
         : x == -1                       ? -mla_hip::infinity
                                         : mla_hip::no_logarithm(x);
}
MLA_F64(pow)(double x, double y) {
  return mla_hip::power(x, y);
}
MLA_F64(pown)(double x, int n) {
  return mla_hip::power(x, n);
}
MLA_F64(cbrt)(double x) {
  return mla_hip::cube_root_of(x, false);
}
MLA_F64(rcbrt)(double x) {
  return mla_hip::cube_root_of(x, true);
}
MLA_F64(rsqrt)(double x) {
  return mla_hip::inverse_root(x);
}
MLA_F64(sinh)(double x) {
  return mla_hip::hyperbolic_sine(x);
}
MLA_F64(cosh)(double x) {
  return mla_hip::hyperbolic_cosine(x);
}
MLA_F64(tanh)(double x) {
  return mla_hip::hyperbolic_tangent(x);
}
MLA_F64(asinh)(double x) {
  return mla_hip::inverse_hyperbolic_sine(x);
}
MLA_F64(acosh)(double x) {
  return mla_hip::inverse_hyperbolic_cosine(x);
}
MLA_F64(atanh)(double x) {
  return mla_hip::inverse_hyperbolic_tangent(x);
}
MLA_F64(sin)(double x) {
  MLA_FINITE(x);
  return x == 0 ? x : mla_hip::sine(mla_hip::reduce(x)).hi;
}
MLA_F64(cos)(double x) {
  MLA_FINITE(x);
  return mla_hip::cosine(mla_hip::reduce(x)).hi;
}
MLA_F64(sincos)(double x, MLA_PRIVATE double* cosine) {
  *cosine = __builtin_nan("");
  MLA_FINITE(x);
  const mla_hip::Angle angle = mla_hip::reduce(x);
  *cosine = mla_hip::cosine(angle).hi;
  return x == 0 ? x : mla_hip::sine(angle).hi;
}
MLA_F64(tan)(double x) {
  MLA_FINITE(x);
  const mla_hip::Angle angle = mla_hip::reduce(x);
  return x == 0 ? x : mla_hip::divide(mla_hip::sine(angle), mla_hip::cosine(angle)).hi;
}
MLA_F64(sinpi)(double x) {
  MLA_FINITE(x);
  if (__builtin_trunc(x) == x) return __builtin_copysign(0.0, x);
  return mla_hip::sine(mla_hip::reduce_half_turns(x)).hi;
}
MLA_F64(cospi)(double x) {
  MLA_FINITE(x);
  const double part = __builtin_fabs(x - __builtin_trunc(x));
  return part == 0.5 ? 0 : mla_hip::cosine(mla_hip::reduce_half_turns(x)).hi;
}
MLA_F64(sincospi)(double x, MLA_PRIVATE double* cosine) {
  *cosine = __ocml_cospi_f64(x);
  return __ocml_sinpi_f64(x);
}
MLA_F64(asin)(double x) {
  return mla_hip::arcsine(x);
}
MLA_F64(acos)(double x) {
  return mla_hip::arccosine(x);
}
MLA_F64(atan)(double x) {
  return __builtin_fabs(x) < 0x1p-30 ? __builtin_fma(x * x, x * (-1. / 3), x)
                                     : mla_hip::arctangent2(x, 1);
}
MLA_F64(atan2)(double y, double x) {
  return mla_hip::arctangent2(y, x);
}
MLA_F64(erf)(double x) {
  return mla_hip::error_function(x);
}
MLA_F64(erfc)(double x) {
  return mla_hip::complementary_error(x);
}
MLA_F64(erfcx)(double x) {
  return mla_hip::scaled_complementary_error(x);
}
MLA_F64(ncdf)(double x) {
  return 0.5 * mla_hip::complementary_error(x * -0x1.6a09e667f3bcdp-1);
}
MLA_F64(lgamma)(double x) {
  return mla_hip::log_gamma(x);
}
MLA_F64(tgamma)(double x) {
  return mla_hip::gamma_function(x);
}
MLA_F64(fmod)(double x, double y) {
  return mla_hip::remainder_to_zero(x, y);
}
MLA_F64(remainder)(double x, double y) {
  int quotient;
  return mla_hip::remainder_to_nearest(x, y, quotient);
}
MLA_F64(remquo)(double x, double y, MLA_PRIVATE int* quotient) {
  int of;
  const double rest = mla_hip::remainder_to_nearest(x, y, of);
  *quotient = of;
  return rest;
}
MLA_F64(hypot)(double x, double y) {
  return mla_hip::length(x, y, 0, 0);
}
MLA_F64(rhypot)(double x, double y) {
  return mla_hip::inverse_length(x, y, 0, 0);
}
MLA_F64(len3)(double x, double y, double z) {
  return mla_hip::length(x, y, z, 0);
}
MLA_F64(rlen3)(double x, double y, double z) {
  return mla_hip::inverse_length(x, y, z, 0);
}
MLA_F64(len4)(double x, double y, double z, double w) {
  return mla_hip::length(x, y, z, w);
}
MLA_F64(rlen4)(double x, double y, double z, double w) {
  return mla_hip::inverse_length(x, y, z, w);
}
MLA_F64(fdim)(double x, double y) {
  return x != x || y != y ? x + y : x > y ? x - y : 0;
}
MLA_F64(modf)(double x, MLA_PRIVATE double* whole) {
  *whole = __builtin_trunc(x);
  return __builtin_isinf(x) ? __builtin_copysign(0.0, x) : __builtin_copysign(x - *whole, x);
}
MLA_F64(nextafter)(double from, double to) {
  return mla_hip::next_after<double, long long>(from, to);
}
extern "C" __device__ inline int __ocml_ilogb_f64(double x) {
  if (x == 0) return -2147483647 - 1;
  if (!mla_hip::is_finite(x)) return x != x ? -2147483647 - 1 : 2147483647;
  int k;
  (void)__builtin_frexp(x, &k);
  return k - 1;
}
#undef MLA_F64

// The functions that clang's own HIP headers call for float: calculated in double, rounded once.
// What these headers hand to the compiler (exp, log, sqrt) is expanded as ROCm's compiler does.
#pragma once

#include "functions_f64.h"

namespace mla_hip {

MLA_MATH double plain_exp(double x) {
  const double k = __builtin_rint(x * one_by_ln2);
  const double r = __builtin_fma(-k, ln2_lower, __builtin_fma(-k, ln2_upper, x));
  constexpr double factors[] = {1,        1,         1. / 2,     1. / 6,      1. / 24,     1. / 120,
                                1. / 720, 1. / 5040, 1. / 40320, 1. / 362880, 1. / 3628800};
  return __builtin_ldexp(polynomial(factors, r), static_cast<int>(k));
}
MLA_MATH double plain_log1p(double f) {  // 1 + f from 0.7 to 1.42
  constexpr double factors[] = {2.,      2. / 3,  2. / 5,  2. / 7, 2. / 9,
                                2. / 11, 2. / 13, 2. / 15, 2. / 17};
  const double s = f / (2 + f);
  return s * polynomial(factors, s * s);
}
MLA_MATH double plain_log(double x) {
  const int k = exponent_of(x);
  const double near = plain_log1p(__builtin_ldexp(x, -k) - 1);
  return __builtin_fma(k, ln2_upper + ln2_lower, near);
}
MLA_MATH Angle plain_reduce(float x) {
  if (__builtin_fabsf(x) >= 0x1p28f) return reduce_large(x);
  const double n = __builtin_rint(x * 0x1.45f306dc9c883p-1);
  const double r = __builtin_fma(-n, half_pi.lo, __builtin_fma(-n, half_pi.hi, x));
  return {static_cast<int>(n), {r, 0}};
}
MLA_MATH double plain_sine(Angle a) {
  constexpr double odd[] = {1, -1. / 6, 1. / 120, -1. / 5040, 1. / 362880, -1. / 39916800};
  constexpr double even[] = {1,          -1. / 2,       1. / 24,        -1. / 720,
                             1. / 40320, -1. / 3628800, 1. / 479001600.};
  const double z = a.r.hi * a.r.hi;
  const double size = (a.n & 1) != 0 ? polynomial(even, z) : a.r.hi * polynomial(odd, z);
  return (a.n & 2) != 0 ? -size : size;
}
MLA_MATH double plain_cosine(Angle a) {
  return plain_sine({a.n + 1, a.r});
}
MLA_MATH Angle plain_half_turns(float x) {
  x -= 2 * __builtin_truncf(x * 0.5F);
  const float n = __builtin_rintf(2 * x);
  return {static_cast<int>(n), {pi.hi * (x - 0.5F * n), 0}};
}
MLA_MATH bool is_nan_or_infinite(float x) {
  return !(__builtin_fabsf(x) < __builtin_huge_valf());
}
MLA_MATH float plain_power(float x, float y) {
  const float size = __builtin_fabsf(x);
  const bool special = !(size > 0) || is_nan_or_infinite(x) || is_nan_or_infinite(y) || size == 1 ||
                       y == 0 || __builtin_fabsf(y) > 0x1p70F;
  if (special) return static_cast<float>(power(x, y));
  const double exponent = __builtin_fmax(-800.0, __builtin_fmin(800.0, y * plain_log(size)));
  const double result = plain_exp(exponent);
  if (x > 0) return static_cast<float>(result);
  if (__builtin_truncf(y) != y) return __builtin_nanf("");
  const float half = y * 0.5F;
  return static_cast<float>(__builtin_truncf(half) != half ? -result : result);
}

}  // namespace mla_hip

#define MLA_F32(name) extern "C" __device__ inline float __ocml_##name##_f32
#define MLA_TURNS \
  if (mla_hip::is_nan_or_infinite(x)) return __builtin_nanf("")
MLA_F32(sin)(float x) {
  MLA_TURNS;
  return x == 0 ? x : mla_hip::plain_sine(mla_hip::plain_reduce(x));
}
MLA_F32(cos)(float x) {
  MLA_TURNS;
  return mla_hip::plain_cosine(mla_hip::plain_reduce(x));
}
MLA_F32(sincos)(float x, MLA_PRIVATE float* cosine) {
  *cosine = __builtin_nanf("");
  MLA_TURNS;
  const mla_hip::Angle angle = mla_hip::plain_reduce(x);
  *cosine = mla_hip::plain_cosine(angle);
  return x == 0 ? x : mla_hip::plain_sine(angle);
}
MLA_F32(tan)(float x) {
  MLA_TURNS;
  const mla_hip::Angle angle = mla_hip::plain_reduce(x);
  return x == 0 ? x : mla_hip::plain_sine(angle) / mla_hip::plain_cosine(angle);
}
MLA_F32(sinpi)(float x) {
  MLA_TURNS;
  if (__builtin_truncf(x) == x) return __builtin_copysignf(0.0F, x);
  return mla_hip::plain_sine(mla_hip::plain_half_turns(x));
}
MLA_F32(cospi)(float x) {
  MLA_TURNS;
  if (__builtin_fabsf(x - __builtin_truncf(x)) == 0.5F) return 0;
  return mla_hip::plain_cosine(mla_hip::plain_half_turns(x));
}
MLA_F32(sincospi)(float x, MLA_PRIVATE float* cosine) {
  *cosine = __ocml_cospi_f32(x);
  return __ocml_sinpi_f32(x);
}
MLA_F32(pow)(float x, float y) {
  return mla_hip::plain_power(x, y);
}
MLA_F32(pown)(float x, int n) {
  return mla_hip::power(x, n);
}
MLA_F32(rsqrt)(float x) {
  return 1 / __builtin_sqrt(static_cast<double>(x));
}
MLA_F32(hypot)(float x, float y) {
  if (__builtin_isinf(x) || __builtin_isinf(y)) return __builtin_huge_valf();
  return __builtin_sqrt(static_cast<double>(x) * x + static_cast<double>(y) * y);
}
MLA_F32(rhypot)(float x, float y) {
  return mla_hip::inverse_length(x, y, 0, 0);
}
MLA_F32(len3)(float x, float y, float z) {
  return mla_hip::length(x, y, z, 0);
}
MLA_F32(rlen3)(float x, float y, float z) {
  return mla_hip::inverse_length(x, y, z, 0);
}
MLA_F32(len4)(float x, float y, float z, float w) {
  return mla_hip::length(x, y, z, w);
}
MLA_F32(rlen4)(float x, float y, float z, float w) {
  return mla_hip::inverse_length(x, y, z, w);
}
MLA_F32(fmod)(float x, float y) {
  return mla_hip::remainder_to_zero(x, y);
}
MLA_F32(remainder)(float x, float y) {
  return __ocml_remainder_f64(x, y);
}
MLA_F32(remquo)(float x, float y, MLA_PRIVATE int* quotient) {
  return __ocml_remquo_f64(x, y, quotient);
}
MLA_F32(modf)(float x, MLA_PRIVATE float* whole) {
  *whole = __builtin_truncf(x);
  return __builtin_isinf(x) ? __builtin_copysignf(0.0F, x) : __builtin_copysignf(x - *whole, x);
}
MLA_F32(fdim)(float x, float y) {
  return x != x || y != y ? x + y : x > y ? x - y : 0;
}
MLA_F32(nextafter)(float from, float to) {
  return mla_hip::next_after<float, int>(from, to);
}
extern "C" __device__ inline int __ocml_ilogb_f32(float x) {
  return __ocml_ilogb_f64(x);
}
#define MLA_F32_OF(name)           \
  MLA_F32(name)(float x) {         \
    return __ocml_##name##_f64(x); \
  }
MLA_F32_OF(asin)
MLA_F32_OF(acos)
MLA_F32_OF(atan)
MLA_F32_OF(sinh)
MLA_F32_OF(cosh)
MLA_F32_OF(tanh)
MLA_F32_OF(asinh)
MLA_F32_OF(acosh)
MLA_F32_OF(atanh)
MLA_F32_OF(expm1)
MLA_F32_OF(log1p)
MLA_F32_OF(cbrt)
MLA_F32_OF(rcbrt)
MLA_F32_OF(erf)
MLA_F32_OF(erfc)
MLA_F32_OF(erfcx)
MLA_F32_OF(ncdf)
MLA_F32_OF(lgamma)
MLA_F32_OF(tgamma)
#undef MLA_F32_OF
MLA_F32(atan2)(float y, float x) {
  return mla_hip::arctangent2(y, x);
}
// The hardware's own: of a whole turn, and as exact as that.
MLA_F32(native_sin)(float x) {
  return __builtin_amdgcn_sinf(x * 0x1.45f306p-3F);
}
MLA_F32(native_cos)(float x) {
  return __builtin_amdgcn_cosf(x * 0x1.45f306p-3F);
}
MLA_F32(native_sqrt)(float x) {
  return __builtin_amdgcn_sqrtf(x);
}
#undef MLA_F32
#undef MLA_FINITE
#undef MLA_TURNS
#undef MLA_PRIVATE
#undef MLA_AS_WRITTEN
#undef MLA_MATH

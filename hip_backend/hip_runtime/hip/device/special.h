// Error functions and gamma functions.
#pragma once

#include "trigonometry.h"

namespace mla_hip {

// erf(x) for |x| <= 0.875: x + x * P(x * x), from a Chebyshev fit.
MLA_MATH Pair small_erf(double x) {
  constexpr double factors[] = {
      -0x1.812746b0379e7p-2,  0x1.ce2f21a042be2p-4,  -0x1.b82ce31288b50p-6,  0x1.565bcd0e6a51ap-8,
      -0x1.c02db4003fd96p-11, 0x1.f9a326f9819ecp-14, -0x1.f4d25c34becaap-17, 0x1.b9e6c8bf94160p-20,
      -0x1.5f741649a0959p-23, 0x1.fcc2685ddee77p-27, -0x1.51b4839c593a3p-30, 0x1.9c4307fc10cd4p-34,
      -0x1.c1398ac5a2040p-38, 0x1.5f582903ae4e4p-42};
  const double z = x * x;
  const Pair first = multiply(Pair{0x1.06eba8214db69p-3, -0x1.ca38add602500p-57}, x);
  return add(add(first, x * z * polynomial(factors, z)), x);
}
// exp(x * x) * erfc(x) for x >= 0.875: a fit in (x - 3.5) / (x + 3.5), divided by x + 1/2.
MLA_MATH Pair scaled_erfc(double x) {
  constexpr double factors[] = {
      -0x1.1ebd220ea593bp-4,  -0x1.59e2c284b118cp-8,  0x1.8f702ec6b328cp-5,
      -0x1.d76830c35357fp-5,  0x1.6861060470c23p-5,   -0x1.8ff5ef76c4e36p-6,
      0x1.38ec66706fb7cp-7,   -0x1.143c4cacfb356p-9,  -0x1.3cf36767449bdp-13,
      0x1.27e66661b9ba7p-12,  -0x1.fda94b2f3f919p-15, -0x1.66e2a7984867dp-16,
      0x1.970dd84b37958p-17,  0x1.389d3cf99a499p-20,  -0x1.00432349a19b9p-19,
      -0x1.8c17fc94d6478p-26, 0x1.46d19e587a7c9p-22,  -0x1.7b932c42e1282p-29,
      -0x1.bfce39b3159b1p-25, -0x1.b55029d4ae8c3p-32, 0x1.46d16bec84b52p-27,
      -0x1.4f3df339dbee0p-33, -0x1.98c60439b1486p-30, 0x1.3f48fe86e9e1ap-32};
  const double t = (x - 3.5) / (x + 3.5);
  const Pair fit = exact_sum(0x1.3e0a99a0ee914p-1, t * polynomial(factors, t));
  return divide(fit, exact_sum(x, 0.5));
}
// erfc(x) for x >= 0.875.
MLA_MATH Pair large_erfc(double x, int& k) {
  return multiply(exponential(negative(exact_product(x, x)), k), scaled_erfc(x));
}
MLA_MATH double error_function(double x) {
  const double size = __builtin_fabs(x);
  if (x != x) return x;
  if (size <= 0.875) return size < 0x1p-1000 ? x * 0x1.20dd750429b6dp+0 : small_erf(x).hi;
  if (size > 6) return __builtin_copysign(1.0, x);
  int k;
  const Pair rest = large_erfc(size, k);
  const double power = __builtin_ldexp(1.0, k);
  return __builtin_copysign(add(negative(scaled(rest, power)), 1.0).hi, x);
}
MLA_MATH double complementary_error(double x) {
  if (x != x) return x;
  if (__builtin_fabs(x) <= 0.875) return add(negative(small_erf(x)), 1.0).hi;
  if (x > 27.3) return 0;
  if (x < -6) return 2;
  int k;
  const Pair large = large_erfc(__builtin_fabs(x), k);
  if (x > 0) return __builtin_ldexp(large.hi, k);
  return add(negative(scaled(large, __builtin_ldexp(1.0, k))), 2.0).hi;
}
MLA_MATH double scaled_complementary_error(double x) {
  if (x >= 0.875)
    return x > 27 ? 0x1.20dd750429b6dp-1 / x * (1 - 0.5 / (x * x)) : scaled_erfc(x).hi;
  return exponential(exact_product(x, x)) * complementary_error(x);
}

// ln gamma(x) for x >= 12: Stirling's series.
MLA_MATH Pair large_log_gamma(Pair x) {
  constexpr double factors[] = {
      0x1.5555555555555p-4,  -0x1.6c16c16c16c17p-9,  0x1.a01a01a01a01ap-11, -0x1.3813813813814p-11,
      0x1.b951e2b18ff23p-11, -0x1.f6ab0d9993c7dp-10, 0x1.a41a41a41a41ap-8,  -0x1.e4286cb0f5398p-6};
  const double inverse = 1 / x.hi;
  Pair sum = multiply(logarithm(x), add(x, -0.5));
  sum = add(sum, negative(x));
  sum = add(sum, Pair{0x1.d67f1c864beb5p-1, -0x1.65b5a1b7ff5dfp-55});
  return add(sum, inverse * polynomial(factors, inverse * inverse));
}
// x * (x + 1) * ... up to the first that is 12 or more, which stays in x.
MLA_MATH Pair rising_product(Pair& x) {
  Pair product = {1, 0};
  while (x.hi < 12) {
    product = multiply(product, x);
    x = add(x, 1.0);
  }
  return product;
}
MLA_MATH double gamma_function(double x) {
  if (x != x || x == infinity) return x;
  if (x == 0) return __builtin_copysign(infinity, x);
  if (x > 171.7) return infinity;
  if (x < 0 && __builtin_trunc(x) == x) return __builtin_nan("");
  if (__builtin_fabs(x) < 0x1p-60) return 1 / x;
  const bool reflected = x < 0.5;
  Pair at = reflected ? exact_sum(1.0, -x) : Pair{x, 0};
  const Pair product = rising_product(at);
  const Pair size = large_log_gamma(at);
  if (!reflected) {
    int k;
    const Pair of = exponential(size, k);
    return __builtin_ldexp(divide(of, product).hi, k);
  }
  if (x < -190) return 0;
  int k;
  const Pair inverse = exponential(negative(size), k);
  const Pair turned = divide(pi, sine(reduce_half_turns(x)));
  return __builtin_ldexp(multiply(multiply(inverse, product), turned).hi, k);
}

// ln gamma(2 + e) for |e| <= 1/2, exact in relation to itself at its zero.
MLA_MATH Pair log_gamma_near_2(Pair e) {
  constexpr double factors[] = {
      0x1.4a34cc4a60fa6p-2,  -0x1.13e001a557607p-4,  0x1.51322ac7d8483p-6,  -0x1.e404fc218f5f1p-8,
      0x1.7add6eadb6cbbp-9,  -0x1.38ac5c2bf8e8ep-10, 0x1.0b36af8630f5fp-11, -0x1.d3fd4c76c2b4bp-13,
      0x1.a127b0f9ee692p-14, -0x1.78de5bdfe4b09p-15, 0x1.580dcc735f957p-16, -0x1.3cbc93e25637dp-17,
      0x1.259814c96e3bdp-18, -0x1.11b358339bbcep-19, 0x1.0057bc58baf67p-20, -0x1.e246f058f7af4p-22,
      0x1.c959188a8539dp-23, -0x1.b134741533839p-24, 0x1.8367966486352p-25, -0x1.70bb32ee45e6ep-26,
      0x1.01127da9788f9p-26, -0x1.ec58aea95c0e9p-28};
  const Pair line = multiply(Pair{0x1.b0ee6072093cep-2, 0x1.6cb90701fbfabp-58}, e);
  return add(line, e.hi * e.hi * polynomial(factors, e.hi));
}
MLA_MATH Pair positive_log_gamma(Pair x) {
  if (x.hi >= 1.5 && x.hi <= 2.5) return log_gamma_near_2(add(x, -2.0));
  if (x.hi >= 0.5 && x.hi < 1.5) {
    const Pair e = add(x, -1.0);
    return add(log_gamma_near_2(e), negative(log1p_pair(e)));
  }
  if (x.hi < 0.5) {
    const Pair both = add(log1p_pair(x), logarithm(x));
    return add(log_gamma_near_2(x), negative(both));
  }
  const Pair product = rising_product(x);
  return add(large_log_gamma(x), negative(logarithm(product)));
}
MLA_MATH double log_gamma(double x) {
  if (x != x) return x;
  if (__builtin_fabs(x) == infinity) return infinity;
  if (x > 2.6e305) return infinity;
  if (x > 0) return positive_log_gamma({x, 0}).hi;
  if (__builtin_trunc(x) == x) return infinity;
  const Pair turned = sine(reduce_half_turns(x));
  const Pair ratio = divide(pi, turned.hi < 0 ? negative(turned) : turned);
  return add(logarithm(ratio), negative(positive_log_gamma(exact_sum(1.0, -x)))).hi;
}

}  // namespace mla_hip

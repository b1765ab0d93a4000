// A number as the sum of two doubles, with about 100 bits: what the functions of mathematics
// calculate with before they round once.
#pragma once

#define MLA_MATH __device__ inline
// Sums and products as they are written, also with -ffast-math.
#define MLA_AS_WRITTEN _Pragma("clang fp contract(off) reassociate(off)")

namespace mla_hip {

struct Pair {
  double hi, lo;  // |lo| is at most half a unit in the last place of hi
};

// a + b without an error. The quick one asks for |a| >= |b|, or a == 0.
MLA_MATH Pair quick_sum(double a, double b) {
  MLA_AS_WRITTEN
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
MLA_MATH Pair exact_sum(double a, double b) {
  MLA_AS_WRITTEN
  const double sum = a + b, other = sum - a;
  return {sum, (a - (sum - other)) + (b - other)};
}
MLA_MATH Pair exact_product(double a, double b) {
  MLA_AS_WRITTEN
  const double product = a * b;
  return {product, __builtin_fma(a, b, -product)};
}
MLA_MATH Pair negative(Pair a) {
  return {-a.hi, -a.lo};
}
MLA_MATH Pair scaled(Pair a, double power_of_two) {
  return {a.hi * power_of_two, a.lo * power_of_two};
}
MLA_MATH Pair add(Pair a, Pair b) {
  Pair high = exact_sum(a.hi, b.hi);
  const Pair low = exact_sum(a.lo, b.lo);
  high = quick_sum(high.hi, high.lo + low.hi);
  return quick_sum(high.hi, high.lo + low.lo);
}
MLA_MATH Pair add(Pair a, double b) {
  const Pair high = exact_sum(a.hi, b);
  return quick_sum(high.hi, high.lo + a.lo);
}
MLA_MATH Pair multiply(Pair a, Pair b) {
  const Pair high = exact_product(a.hi, b.hi);
  return quick_sum(high.hi, high.lo + __builtin_fma(a.hi, b.lo, a.lo * b.hi));
}
MLA_MATH Pair multiply(Pair a, double b) {
  const Pair high = exact_product(a.hi, b);
  return quick_sum(high.hi, __builtin_fma(a.lo, b, high.lo));
}
MLA_MATH Pair divide(Pair a, Pair b) {
  const double first = a.hi / b.hi;
  const Pair rest = add(a, negative(multiply(b, first)));
  return quick_sum(first, rest.hi / b.hi);
}
MLA_MATH Pair square_root(Pair a) {
  MLA_AS_WRITTEN
  const double first = __builtin_sqrt(a.hi);
  if (first == 0) return {0, 0};
  return quick_sum(first, (__builtin_fma(-first, first, a.hi) + a.lo) / (2 * first));
}
template <int count>
MLA_MATH double polynomial(const double (&coefficients)[count], double x) {
  double sum = coefficients[count - 1];
#pragma unroll
  for (int k = count - 2; k >= 0; --k) sum = __builtin_fma(sum, x, coefficients[k]);
  return sum;
}

}  // namespace mla_hip

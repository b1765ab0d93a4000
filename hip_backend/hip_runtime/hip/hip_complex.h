// Complex numbers in C's way: float2 and double2, and functions of them, on host and device.
#pragma once

#include <cmath>

#include "hip_runtime.h"

using hipFloatComplex = float2;
using hipDoubleComplex = double2;
using hipComplex = hipFloatComplex;

#if defined(__HIP__)
#define MLA_COMPLEX __host__ __device__ static inline
#else
#define MLA_COMPLEX static inline
#endif

// `f` is the end of the names of float, and nothing for those of double.
#define MLA_COMPLEX_OF(Complex, real, f, name)                                      \
  MLA_COMPLEX Complex make_##name(real x, real y) {                                 \
    return Complex(x, y);                                                           \
  }                                                                                 \
  MLA_COMPLEX real hipCreal##f(Complex z) {                                         \
    return z.x;                                                                     \
  }                                                                                 \
  MLA_COMPLEX real hipCimag##f(Complex z) {                                         \
    return z.y;                                                                     \
  }                                                                                 \
  MLA_COMPLEX Complex hipConj##f(Complex z) {                                       \
    return Complex(z.x, -z.y);                                                      \
  }                                                                                 \
  MLA_COMPLEX real hipCsqabs##f(Complex z) {                                        \
    return z.x * z.x + z.y * z.y;                                                   \
  }                                                                                 \
  MLA_COMPLEX Complex hipCadd##f(Complex a, Complex b) {                            \
    return Complex(a.x + b.x, a.y + b.y);                                           \
  }                                                                                 \
  MLA_COMPLEX Complex hipCsub##f(Complex a, Complex b) {                            \
    return Complex(a.x - b.x, a.y - b.y);                                           \
  }                                                                                 \
  MLA_COMPLEX Complex hipCmul##f(Complex a, Complex b) {                            \
    return Complex(a.x * b.x - a.y * b.y, a.y * b.x + a.x * b.y);                   \
  }                                                                                 \
  MLA_COMPLEX Complex hipCdiv##f(Complex a, Complex b) {                            \
    const real size = hipCsqabs##f(b);                                              \
    return Complex((a.x * b.x + a.y * b.y) / size, (a.y * b.x - a.x * b.y) / size); \
  }                                                                                 \
  MLA_COMPLEX real hipCabs##f(Complex z) {                                          \
    return sqrt##f(hipCsqabs##f(z));                                                \
  }                                                                                 \
  MLA_COMPLEX Complex hipCfma##f(Complex a, Complex b, Complex c) {                 \
    return hipCadd##f(hipCmul##f(a, b), c);                                         \
  }
MLA_COMPLEX_OF(hipFloatComplex, float, f, hipFloatComplex)
MLA_COMPLEX_OF(hipDoubleComplex, double, , hipDoubleComplex)
#undef MLA_COMPLEX_OF

MLA_COMPLEX hipComplex make_hipComplex(float x, float y) {
  return hipComplex(x, y);
}
MLA_COMPLEX hipFloatComplex hipComplexDoubleToFloat(hipDoubleComplex z) {
  return hipFloatComplex(static_cast<float>(z.x), static_cast<float>(z.y));
}
MLA_COMPLEX hipDoubleComplex hipComplexFloatToDouble(hipFloatComplex z) {
  return hipDoubleComplex(static_cast<double>(z.x), static_cast<double>(z.y));
}
#undef MLA_COMPLEX

// What torch's complex numbers name of thrust when HIP code includes them. Functions that are
// deleted are an error of the compiler where they are called.
#pragma once

#include "hip/hip_runtime.h"

namespace thrust {

template <class T>
class complex {
 public:
  __host__ __device__ complex(const T& real = T(), const T& imag = T())  // NOLINT: as thrust's
      : real_(real), imag_(imag) {}
  template <class U>
  __host__ __device__ explicit complex(const complex<U>& other)
      : real_(static_cast<T>(other.real())), imag_(static_cast<T>(other.imag())) {}
  __host__ __device__ T real() const { return real_; }
  __host__ __device__ T imag() const { return imag_; }

 private:
  T real_, imag_;
};

template <class T>
__host__ __device__ T abs(const complex<T>& z) {
  return ::hypot(z.real(), z.imag());
}
template <class T>
__host__ __device__ T arg(const complex<T>& z) {
  return ::atan2(z.imag(), z.real());
}
template <class T>
__host__ __device__ complex<T> polar(const T& r, const T& angle = T()) {
  return {r * static_cast<T>(::cos(angle)), r * static_cast<T>(::sin(angle))};
}
template <class T>
__host__ __device__ complex<T> exp(const complex<T>& z) {
  return polar(static_cast<T>(::exp(z.real())), z.imag());
}
template <class T>
__host__ __device__ complex<T> log(const complex<T>& z) {
  return {static_cast<T>(::log(abs(z))), arg(z)};
}
template <class A, class B>
void pow(const A&, const B&) = delete;
#define MLA_DELETED(name) \
  template <class T>      \
  void name(const T&) = delete;
MLA_DELETED(log10)
MLA_DELETED(sqrt)
MLA_DELETED(sin)
MLA_DELETED(cos)
MLA_DELETED(tan)
MLA_DELETED(asin)
MLA_DELETED(acos)
MLA_DELETED(atan)
MLA_DELETED(sinh)
MLA_DELETED(cosh)
MLA_DELETED(tanh)
MLA_DELETED(asinh)
MLA_DELETED(acosh)
MLA_DELETED(atanh)
#undef MLA_DELETED

}  // namespace thrust

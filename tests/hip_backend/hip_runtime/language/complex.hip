// Complex numbers: std::complex in a kernel, and those of hip_complex.h, beside the host's.
#include <hip/hip_complex.h>
#include <hip/hip_runtime.h>

#include <cmath>
#include <complex>

#include "language.hpp"

namespace hip_language {
namespace {

const char* const names[] = {"sum",  "difference", "product", "quotient", "scaled", "assigned",
                             "conj", "norm",       "abs",     "arg",      "polar",  "exp",
                             "log",  "sqrt",       "pow",     "sin",      "cosh",   "equal"};
constexpr int results = static_cast<int>(std::size(names));

template <class T>
__host__ __device__ void calculate(std::complex<T> a, std::complex<T> b, std::complex<T>* out) {
  out[0] = a + b;
  out[1] = a - b;
  out[2] = a * b;
  out[3] = a / b;
  out[4] = T(2) * -a + T(1);
  out[5] = a;
  out[5] += b;
  out[5] *= a;
  out[6] = std::conj(a);
  out[7] = std::norm(a);
  out[8] = std::abs(a);
  out[9] = std::arg(a);
  out[10] = std::polar(T(2), a.imag());
  out[11] = std::exp(a);
  out[12] = std::log(a);
  out[13] = std::sqrt(a);
  out[14] = std::pow(a, b);
  out[15] = std::sin(a);
  out[16] = std::cosh(a);
  out[17] = a == b ? T(1) : T(0);
}
template <class T>
__global__ void std_kernel(std::complex<T>* out, std::complex<T> a, std::complex<T> b) {
  calculate(a, b, out + results * threadIdx.x);
}

template <class T>
void compare_std(const char* type, T bound, std::vector<std::string>& differing) {
  std::complex<T>* out = nullptr;
  (void)hipMallocManaged(&out, results * sizeof *out);
  const std::complex<T> values[] = {{T(1.5), T(-0.25)}, {T(-2), T(3)}, {T(0.125), T(0)}};
  for (const auto& a : values)
    for (const auto& b : values) {
      std_kernel<<<1, 1>>>(out, a, b);
      std::complex<T> expected[results];
      calculate(a, b, expected);
      for (int k = 0; k < results; ++k)
        if (!(std::abs(out[k] - expected[k]) <= bound * (1 + std::abs(expected[k]))))
          differing.push_back(std::string(names[k]) + " of std::complex<" + type + ">");
    }
  (void)hipFree(out);
}

__global__ void c_kernel(double* out, float x, float y) {
  const hipFloatComplex a = make_hipFloatComplex(x, y), b = make_hipComplex(y, 2);
  const hipDoubleComplex c = hipComplexFloatToDouble(a), d = make_hipDoubleComplex(2, -1);
  int k = 0;
  const auto give = [&](double real, double imag) { out[k++] = real, out[k++] = imag; };
  for (const hipFloatComplex z : {hipCaddf(a, b), hipCsubf(a, b), hipCmulf(a, b), hipCdivf(a, b),
                                  hipConjf(a), hipCfmaf(a, b, a)})
    give(hipCrealf(z), hipCimagf(z));
  for (const hipDoubleComplex z :
       {hipCadd(c, d), hipCsub(c, d), hipCmul(c, d), hipCdiv(c, d), hipConj(c), hipCfma(c, d, c)})
    give(hipCreal(z), hipCimag(z));
  give(hipCabsf(a), hipCsqabsf(a));
  give(hipCabs(c), hipCsqabs(c));
  give(hipComplexDoubleToFloat(d).x, hipComplexDoubleToFloat(d).y);
}

void compare_c(std::vector<std::string>& differing) {
  using Z = std::complex<double>;
  const Z a(3, 4), b(4, 2), d(2, -1);
  const Z expected[] = {a + b,        a - b,     a * b,    a / b,    std::conj(a),
                        a * b + a,    a + d,     a - d,    a * d,    a / d,
                        std::conj(a), a * d + a, Z(5, 25), Z(5, 25), d};
  double* out = nullptr;
  (void)hipMallocManaged(&out, 2 * sizeof expected);
  c_kernel<<<1, 1>>>(out, 3, 4);
  for (std::size_t k = 0; k < std::size(expected); ++k)
    if (!(std::abs(Z(out[2 * k], out[2 * k + 1]) - expected[k]) <= 1e-6))
      differing.push_back("hip_complex.h, result " + std::to_string(k));
  (void)hipFree(out);
}

}  // namespace

std::vector<std::string> differing_complex() {
  std::vector<std::string> differing;
  compare_std<float>("float", 1e-5F, differing);
  compare_std<double>("double", 1e-13, differing);
  compare_c(differing);
  return differing;
}

}  // namespace hip_language

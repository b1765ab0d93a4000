// Functions of mathematics beside those of the host in long double.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "language.hpp"

namespace hip_language {
namespace {

constexpr int arguments = 4096;

template <class T, class Function>
__global__ void apply(Function function, T* out, const T* x, const T* y) {
  const auto i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = function(x[i], y[i]);
}

template <class T>
struct Device {
  T* data = nullptr;
  Device() { (void)hipMallocManaged(&data, arguments * sizeof(T)); }
  ~Device() { (void)hipFree(data); }
};

struct Random {
  std::uint64_t state = 88172645463325252U;
  double next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<double>(state >> 11) * 0x1p-53;
  }
};

enum Scale { linear, binary, both_signs };  // binary: exponents of two; both_signs: these, +-

struct Range {
  double from, to;
  Scale scale;
};
template <class T>
T drawn(Random& random, const Range& range) {
  const double place = range.from + (range.to - range.from) * random.next();
  if (range.scale == linear) return static_cast<T>(place);
  const auto size = static_cast<T>(std::exp2(static_cast<long double>(place)));
  return range.scale == both_signs && random.next() < 0.5 ? -size : size;
}

template <class T>
double distance(T got, long double want) {
  const auto near = static_cast<T>(want);
  if (std::isnan(near) || std::isnan(got)) return std::isnan(near) == std::isnan(got) ? 0 : 1e30;
  if (std::isinf(near) || std::isinf(got)) return near == got ? 0 : 1e30;
  constexpr int digits = std::numeric_limits<T>::digits;
  constexpr int least = std::numeric_limits<T>::min_exponent;
  int exponent = 0;
  (void)std::frexp(near, &exponent);
  if (near == 0 || exponent < least) exponent = least;
  return static_cast<double>(std::fabs(got - want) / std::ldexp(1.0L, exponent - digits));
}

constexpr double special[] = {0.0, -0.0, 1.0, -1.0,     0.5,       -0.5, 2.0,
                              1.5, -1.5, 3.0, HUGE_VAL, -HUGE_VAL, NAN};

template <class T, class Function, class Reference>
Sweep sweep(const char* name, double bound, Range range, Range second, Function function,
            Reference reference) {
  const Device<T> x, y, out;
  Random random;
  for (int i = 0; i < arguments; ++i) {
    x.data[i] = drawn<T>(random, range);
    y.data[i] = drawn<T>(random, second);
  }
  for (std::size_t k = 0; k < std::size(special); ++k) x.data[k] = static_cast<T>(special[k]);
  apply<<<arguments / 256, 256>>>(function, out.data, x.data, y.data);
  Sweep result{name, 0, bound, 0};
  for (int i = 0; i < arguments; ++i) {
    const double d = distance(out.data[i], reference(static_cast<long double>(x.data[i]),
                                                     static_cast<long double>(y.data[i])));
    if (d <= result.worst) continue;
    result.worst = d;
    result.at = static_cast<double>(x.data[i]);
  }
  return result;
}

// sin(pi * x): beside the nearest integer, where the product keeps its digits.
long double sine_of_half_turns(long double x) {
  const long double whole = std::round(x);
  const long double size = std::sin((x - whole) * 3.14159265358979323846264338327950288L);
  return std::fmod(whole, 2.0L) != 0 ? -size : size;
}
long double reference_sinpi(long double x) {
  if (!std::isfinite(x)) return NAN;
  return std::trunc(x) == x ? std::copysign(0.0L, x) : sine_of_half_turns(std::fmod(x, 2.0L));
}
long double reference_cospi(long double x) {
  return std::isfinite(x) ? sine_of_half_turns(0.5L - std::fmod(std::fabs(x), 2.0L)) : NAN;
}

#define ONE(T, name, call, bound, reference, ...)           \
  out.push_back(sweep<T>(                                   \
      name, bound, Range{__VA_ARGS__}, Range{1, 2, linear}, \
      [] __device__(T x, T) -> T { return call; },          \
      [](long double x, long double) -> long double { return reference; }))
#define TWO(T, name, call, bound, reference, ...)                              \
  out.push_back(sweep<T>(                                                      \
      name, bound, __VA_ARGS__, [] __device__(T x, T y) -> T { return call; }, \
      [](long double x, long double y) -> long double { return reference; }))

}  // namespace

std::vector<Sweep> sweeps_of_double() {
  using T = double;
  std::vector<Sweep> out;
  ONE(T, "exp", exp(x), 1, std::exp(x), -745, 710, linear);
  ONE(T, "exp2", exp2(x), 1, std::exp2(x), -1074, 1024, linear);
  ONE(T, "exp10", exp10(x), 1, std::pow(10.0L, x), -323, 308, linear);
  ONE(T, "expm1", expm1(x), 1, std::expm1(x), -60, 9, both_signs);
  ONE(T, "log", log(x), 1, std::log(x), -1074, 1023, binary);
  ONE(T, "log near 1", std::log(x), 1, std::log(x), 0.5, 2, linear);
  ONE(T, "log2", log2(x), 1, std::log2(x), -1074, 1023, binary);
  ONE(T, "log10", log10(x), 1, std::log10(x), -1074, 1023, binary);
  ONE(T, "log1p", log1p(x), 1, std::log1p(x), -60, 1023, binary);
  ONE(T, "log1p near 0", log1p(x), 1, std::log1p(x), -0.999, 1, linear);
  ONE(T, "cbrt", cbrt(x), 1, std::cbrt(x), -1074, 1023, both_signs);
  ONE(T, "rcbrt", rcbrt(x), 1, 1 / std::cbrt(x), -1074, 1023, both_signs);
  ONE(T, "rsqrt", rsqrt(x), 1, 1 / std::sqrt(x), -1074, 1023, binary);
  ONE(T, "sqrt", sqrt(x), 0.5001, std::sqrt(x), -1074, 1023, binary);
  ONE(T, "sin", sin(x), 1, std::sin(x), -10, 10, linear);
  ONE(T, "sin of all", std::sin(x), 1, std::sin(x), -1070, 1023, both_signs);
  ONE(T, "cos", cos(x), 1, std::cos(x), -1070, 1023, both_signs);
  ONE(T, "tan", tan(x), 1, std::tan(x), -1070, 1023, both_signs);
  ONE(T, "sinpi", sinpi(x), 1, reference_sinpi(x), -10, 10, linear);
  ONE(T, "cospi", cospi(x), 1, reference_cospi(x), -10, 10, linear);
  ONE(T, "asin", asin(x), 1, std::asin(x), -1, 1, linear);
  ONE(T, "acos", acos(x), 1, std::acos(x), -1, 1, linear);
  ONE(T, "atan", atan(x), 1, std::atan(x), -1070, 1023, both_signs);
  ONE(T, "sinh", sinh(x), 1, std::sinh(x), -1060, 9.4, both_signs);
  ONE(T, "cosh", cosh(x), 1, std::cosh(x), -710, 710, linear);
  ONE(T, "tanh", tanh(x), 1, std::tanh(x), -1060, 5, both_signs);
  ONE(T, "asinh", asinh(x), 1, std::asinh(x), -1070, 1023, both_signs);
  ONE(T, "acosh", acosh(x), 1, std::acosh(x), 0, 1023, binary);
  ONE(T, "atanh", atanh(x), 1, std::atanh(x), -1, 1, linear);
  ONE(T, "erf", erf(x), 1, std::erf(x), -6, 6, linear);
  ONE(T, "erfc", erfc(x), 3, std::erfc(x), -6, 26, linear);
  ONE(T, "lgamma", lgamma(x), 2, std::lgamma(x), -1060, 1010, binary);
  ONE(T, "lgamma, small", lgamma(x), 2, std::lgamma(x), 0, 20, linear);
  ONE(T, "tgamma", tgamma(x), 1, std::tgamma(x), 0, 171, linear);
  TWO(T, "pow", pow(x, y), 1, std::pow(x, y), Range{-1000, 1000, binary}, Range{-12, 6, binary});
  TWO(T, "pow near 1", pow(x, y), 1, std::pow(x, y), Range{-1, 1, binary}, Range{0, 9, binary});
  TWO(T, "atan2", atan2(x, y), 1, std::atan2(x, y), Range{-10, 10, both_signs},
      Range{-10, 10, both_signs});
  TWO(T, "hypot", hypot(x, y), 1, std::hypot(x, y), Range{-1000, 1000, both_signs},
      Range{-1000, 1000, both_signs});
  TWO(T, "norm3d", norm3d(x, y, 2.0), 1, std::sqrt(x * x + y * y + 4), Range{-9, 9, both_signs},
      Range{-9, 9, both_signs});
  TWO(T, "a quotient", x / y, 0.5001, x / y, Range{-9, 9, both_signs}, Range{-9, 9, both_signs});
  return out;
}

std::vector<Sweep> sweeps_of_float() {
  using T = float;
  std::vector<Sweep> out;
  constexpr double once = 0.5001;  // rounded once from double
  ONE(T, "expf", expf(x), 1, std::exp(x), -103, 88, linear);
  ONE(T, "exp2f", exp2f(x), 1, std::exp2(x), -148, 127, linear);
  ONE(T, "exp10f", exp10f(x), 1, std::pow(10.0L, x), -44, 38, linear);
  ONE(T, "expm1f", expm1f(x), once, std::expm1(x), -60, 6, both_signs);
  ONE(T, "logf", logf(x), 2, std::log(x), -149, 127, binary);
  ONE(T, "log2f", log2f(x), 1, std::log2(x), -149, 127, binary);
  ONE(T, "log10f", log10f(x), 2, std::log10(x), -149, 127, binary);
  ONE(T, "log1pf", log1pf(x), once, std::log1p(x), -60, 127, binary);
  ONE(T, "cbrtf", cbrtf(x), once, std::cbrt(x), -149, 127, both_signs);
  ONE(T, "rcbrtf", rcbrtf(x), once, 1 / std::cbrt(x), -149, 127, both_signs);
  ONE(T, "rsqrtf", rsqrtf(x), once, 1 / std::sqrt(x), -149, 127, binary);
  ONE(T, "sqrtf", sqrtf(x), once, std::sqrt(x), -149, 127, binary);
  ONE(T, "sinf", sinf(x), once, std::sin(x), -140, 127, both_signs);
  ONE(T, "cosf", cosf(x), once, std::cos(x), -140, 127, both_signs);
  ONE(T, "tanf", tanf(x), once, std::tan(x), -140, 127, both_signs);
  ONE(T, "sinpif", sinpif(x), once, reference_sinpi(x), -10, 10, linear);
  ONE(T, "cospif", cospif(x), once, reference_cospi(x), -10, 10, linear);
  ONE(T, "asinf", asinf(x), once, std::asin(x), -1, 1, linear);
  ONE(T, "acosf", acosf(x), once, std::acos(x), -1, 1, linear);
  ONE(T, "atanf", atanf(x), once, std::atan(x), -140, 127, both_signs);
  ONE(T, "sinhf", sinhf(x), once, std::sinh(x), -88, 88, linear);
  ONE(T, "coshf", coshf(x), once, std::cosh(x), -88, 88, linear);
  ONE(T, "tanhf", tanhf(x), once, std::tanh(x), -9, 9, linear);
  ONE(T, "asinhf", asinhf(x), once, std::asinh(x), -140, 127, both_signs);
  ONE(T, "acoshf", acoshf(x), once, std::acosh(x), 0, 127, binary);
  ONE(T, "atanhf", atanhf(x), once, std::atanh(x), -1, 1, linear);
  ONE(T, "erff", erff(x), once, std::erf(x), -4, 4, linear);
  ONE(T, "erfcf", erfcf(x), once, std::erfc(x), -4, 10, linear);
  ONE(T, "lgammaf", lgammaf(x), once, std::lgamma(x), -149, 120, binary);
  ONE(T, "tgammaf", tgammaf(x), once, std::tgamma(x), 0, 35, linear);
  TWO(T, "powf", powf(x, y), once, std::pow(x, y), Range{-126, 127, binary}, Range{-12, 6, binary});
  TWO(T, "atan2f", atan2f(x, y), once, std::atan2(x, y), Range{-10, 10, both_signs},
      Range{-10, 10, both_signs});
  TWO(T, "hypotf", hypotf(x, y), once, std::hypot(x, y), Range{-140, 127, both_signs},
      Range{-140, 127, both_signs});
  TWO(T, "norm3df", norm3df(x, y, 2.0F), once, std::sqrt(x * x + y * y + 4),
      Range{-9, 9, both_signs}, Range{-9, 9, both_signs});
  TWO(T, "__fdividef", __fdividef(x, y), 2.5, x / y, Range{-60, 60, both_signs},
      Range{-60, 60, both_signs});
  ONE(T, "__frcp_rn", __frcp_rn(x), once, 1 / x, -60, 60, both_signs);
  return out;
}

namespace {

template <class T>
__global__ void exact_kernel(T* out, const T* x, const T* y) {
  const auto i = blockIdx.x * blockDim.x + threadIdx.x;
  const T a = x[i], b = y[i];
  int k = 0, quotient = 0;
  T whole = 0;
  T* const of = out + 16 * i;
  of[0] = fmod(a, b);
  of[1] = remainder(a, b);
  of[2] = remquo(a, b, &quotient);
  of[3] = static_cast<T>(quotient & 7);
  of[4] = frexp(a, &k);
  of[5] = static_cast<T>(k);
  of[6] = modf(a, &whole);
  of[7] = whole;
  of[8] = nextafter(a, b);
  of[9] = fdim(a, b);
  of[10] = copysign(a, b);
  of[11] = ldexp(a, 3);
  of[12] = floor(a) + 2 * ceil(a) + 4 * trunc(a);
  of[13] = rint(a) + 2 * round(a);
  of[14] = fmax(a, b) - fmin(a, b);
  of[15] = fma(a, b, a) + static_cast<T>(ilogb(a)) + static_cast<T>(isnan(a) + 2 * isinf(a));
}

template <class T>
void host_exact(T* of, T a, T b) {
  int k = 0, quotient = 0;
  T whole = 0;
  of[0] = std::fmod(a, b);
  of[1] = std::remainder(a, b);
  of[2] = std::remquo(a, b, &quotient);
  of[3] = static_cast<T>(quotient & 7);
  of[4] = std::frexp(a, &k);
  of[5] = static_cast<T>(k);
  of[6] = std::modf(a, &whole);
  of[7] = whole;
  of[8] = std::nextafter(a, b);
  of[9] = std::fdim(a, b);
  of[10] = std::copysign(a, b);
  of[11] = std::ldexp(a, 3);
  of[12] = std::floor(a) + 2 * std::ceil(a) + 4 * std::trunc(a);
  of[13] = std::rint(a) + 2 * std::round(a);
  of[14] = std::fmax(a, b) - std::fmin(a, b);
  of[15] = std::fma(a, b, a) + static_cast<T>(std::ilogb(a)) +
           static_cast<T>(std::isnan(a) + 2 * std::isinf(a));
}

template <class T>
void compare_exact(const Range& range, const std::string& type, std::vector<std::string>& out) {
  static const char* const names[] = {"fmod",
                                      "remainder",
                                      "remquo",
                                      "remquo's quotient",
                                      "frexp",
                                      "frexp's exponent",
                                      "modf",
                                      "modf's whole",
                                      "nextafter",
                                      "fdim",
                                      "copysign",
                                      "ldexp",
                                      "floor, ceil, trunc",
                                      "rint, round",
                                      "fmax, fmin",
                                      "fma, ilogb, isnan, isinf"};
  T *x = nullptr, *y = nullptr, *results = nullptr;
  (void)hipMallocManaged(&x, arguments * sizeof(T));
  (void)hipMallocManaged(&y, arguments * sizeof(T));
  (void)hipMallocManaged(&results, 16 * arguments * sizeof(T));
  Random random;
  for (int i = 0; i < arguments; ++i) {
    x[i] = drawn<T>(random, range);
    y[i] = drawn<T>(random, range);
    if (i % 4 == 0) x[i] = static_cast<T>(std::trunc(x[i])) + static_cast<T>(0.5);
  }
  exact_kernel<<<arguments / 256, 256>>>(results, x, y);
  bool differs[16] = {};
  for (int i = 0; i < arguments; ++i) {
    T expected[16];
    host_exact(expected, x[i], y[i]);
    for (int k = 0; k < 16; ++k)
      differs[k] |= std::memcmp(&expected[k], &results[16 * i + k], sizeof(T)) != 0;
  }
  for (int k = 0; k < 16; ++k)
    if (differs[k]) out.push_back(names[k] + type);
  for (T* pointer : {x, y, results}) (void)hipFree(pointer);
}

}  // namespace

std::vector<std::string> differing_exact_functions() {
  std::vector<std::string> out;
  compare_exact<double>({-30, 30, both_signs}, " of double", out);
  compare_exact<double>({-900, 900, both_signs}, " of double, far apart", out);
  compare_exact<float>({-20, 20, both_signs}, " of float", out);
  return out;
}

}  // namespace hip_language

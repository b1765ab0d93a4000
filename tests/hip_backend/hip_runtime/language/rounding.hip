// Conversions that round in one direction, beside the host's under fesetround() and a search of all
// halves.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <random>

#include "language.hpp"

namespace hip_language {
namespace {

constexpr int directions[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
constexpr unsigned each = 4, to_float = 5, to_double = 2, to_half = 5;

// The four of a name: nearest, down, up, to zero.
#define FOUR(out, name, value)                                                           \
  (out)[0] = name##_rn(value), (out)[1] = name##_rd(value), (out)[2] = name##_ru(value), \
  (out)[3] = name##_rz(value)

__global__ void floats_kernel(float* out, const std::uint64_t* bits, unsigned count) {
  const unsigned k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  float* const of = out + each * to_float * k;
  const std::uint64_t b = bits[k];
  FOUR(of, __int2float, static_cast<int>(b));
  FOUR(of + 4, __uint2float, static_cast<unsigned>(b));
  FOUR(of + 8, __ll2float, static_cast<long long>(b));
  FOUR(of + 12, __ull2float, static_cast<unsigned long long>(b));
  FOUR(of + 16, __double2float, __longlong_as_double(static_cast<long long>(b)));
}
__global__ void doubles_kernel(double* out, const std::uint64_t* bits, unsigned count) {
  const unsigned k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  double* const of = out + each * to_double * k;
  FOUR(of, __ll2double, static_cast<long long>(bits[k]));
  FOUR(of + 4, __ull2double, static_cast<unsigned long long>(bits[k]));
}
__global__ void halves_kernel(__half* out, const std::uint64_t* bits, unsigned count) {
  const unsigned k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  __half* const of = out + each * to_half * k;
  const std::uint64_t b = bits[k];
  FOUR(of, __float2half, __uint_as_float(static_cast<unsigned>(b)));
  FOUR(of + 4, __int2half, static_cast<int>(b));
  FOUR(of + 8, __short2half, static_cast<short>(b));
  FOUR(of + 12, __ushort2half, static_cast<unsigned short>(b));
  FOUR(of + 16, __ull2half, static_cast<unsigned long long>(b));
}

template <class To, class From>
__attribute__((noinline)) To converted(From value, int direction) {
  std::fesetround(direction);
  volatile From from = value;
  volatile To out = static_cast<To>(from);
  std::fesetround(FE_TONEAREST);
  return out;
}

double value_of(unsigned code) {  // of a positive half; 0x7c00: as if the exponents went on
  const int exponent = static_cast<int>(code >> 10);
  const double part = code & 1023;
  return std::ldexp(exponent == 0 ? part : part + 1024, (exponent == 0 ? 1 : exponent) - 25);
}
unsigned half_of(long double value, int direction) {
  if (value != value) return 0xffff;
  const unsigned sign = std::signbit(value) ? 0x8000 : 0;
  const long double size = std::fabs(value);
  if (size == HUGE_VALL) return sign | 0x7c00;
  unsigned low = 0, high = 0x7c00;
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    (static_cast<long double>(value_of(middle)) <= size ? low : high) = middle;
  }
  const long double below = value_of(low), above = value_of(high);
  if (size == below) return sign | low;
  const bool away = direction == (sign != 0 ? FE_DOWNWARD : FE_UPWARD);
  const bool nearer = size - below > above - size || (size - below == above - size && low % 2 == 1);
  return sign | (direction == FE_TONEAREST ? nearer ? high : low : away ? high : low);
}

struct Compared {
  std::vector<std::string> differing;
  template <class T>
  void operator()(const char* name, int direction, T got, T wanted) {
    const bool same =
        got == wanted ? std::signbit(got) == std::signbit(wanted) : got != got && wanted != wanted;
    note(name, direction, same);
  }
  void note(const char* name, int direction, bool same) {
    const std::string text = name + std::string(" in direction ") + std::to_string(direction);
    if (!same && (differing.empty() || differing.back() != text)) differing.push_back(text);
  }
};

std::vector<std::uint64_t> numbers() {
  std::vector<std::uint64_t> out;
  for (const double value :
       {0.0, -0.0, 1.0, 1.1, -1.1, 1e-50, -1e-50, 1e300, -1e300, 3.4028235677973366e38, 65519.9,
        65520.0, -65504.0, 16777217.0, HUGE_VAL, -HUGE_VAL, std::nan(""), 1e-42, -1e-310})
    out.push_back(__builtin_bit_cast(std::uint64_t, value));
  for (const float value : {1.0F, 1.0001F, -1.0001F, 65504.0F, 65519.0F, 65520.0F, -1e30F, 1e-8F,
                            -1e-8F, 5.9604645e-8F, HUGE_VALF, -HUGE_VALF, std::nanf(""), -0.0F})
    out.push_back(__builtin_bit_cast(std::uint32_t, value));
  for (int bit = 0; bit < 64; ++bit)
    for (const std::int64_t beside : {-1, 0, 1}) {
      out.push_back((std::uint64_t{1} << bit) + static_cast<std::uint64_t>(beside));
      out.push_back(~out.back() + 1);
    }
  std::mt19937_64 random(1);
  for (int k = 0; k < 3000; ++k) out.push_back(random() >> k % 64);
  return out;
}

template <class T, class Kernel>
std::vector<T> results_of(Kernel kernel, const std::vector<std::uint64_t>& in, unsigned count) {
  std::uint64_t* bits = nullptr;
  T* out = nullptr;
  (void)hipMallocManaged(&bits, in.size() * sizeof *bits);
  (void)hipMallocManaged(&out, in.size() * count * sizeof *out);
  std::copy(in.begin(), in.end(), bits);
  const auto size = static_cast<unsigned>(in.size());
  kernel<<<(size + 63) / 64, 64>>>(out, bits, size);
  std::vector<T> results(out, out + in.size() * count);
  (void)hipFree(bits);
  (void)hipFree(out);
  return results;
}

}  // namespace

std::vector<std::string> differing_roundings() {
  Compared compare;
  const auto in = numbers();
  const auto floats = results_of<float>(floats_kernel, in, each * to_float);
  const auto doubles = results_of<double>(doubles_kernel, in, each * to_double);
  const auto halves = results_of<__half>(halves_kernel, in, each * to_half);
  for (std::size_t k = 0; k < in.size(); ++k) {
    const std::uint64_t b = in[k];
    const auto number = __builtin_bit_cast(double, b);
    const auto single = __builtin_bit_cast(float, static_cast<std::uint32_t>(b));
    for (unsigned d = 0; d < each; ++d) {
      const int direction = directions[d];
      const float* const f = &floats[each * to_float * k + d];
      compare("int2float", direction, f[0], converted<float>(static_cast<int>(b), direction));
      compare("uint2float", direction, f[4], converted<float>(static_cast<unsigned>(b), direction));
      compare("ll2float", direction, f[8], converted<float>(static_cast<long long>(b), direction));
      // The host converts through other operations, which do not all follow its mode.
      const auto wide = static_cast<long double>(b);
      compare("ull2float", direction, f[12], converted<float>(wide, direction));
      compare("double2float", direction, f[16], converted<float>(number, direction));
      const double* const g = &doubles[each * to_double * k + d];
      compare("ll2double", direction, g[0],
              converted<double>(static_cast<long long>(b), direction));
      compare("ull2double", direction, g[4], converted<double>(wide, direction));
      using Wide = long double;
      const Wide of_half[] = {Wide{single}, static_cast<Wide>(static_cast<int>(b)),
                              static_cast<Wide>(static_cast<short>(b)),
                              static_cast<Wide>(static_cast<unsigned short>(b)), wide};
      const char* const names[] = {"float2half", "int2half", "short2half", "ushort2half",
                                   "ull2half"};
      for (unsigned n = 0; n < to_half; ++n) {
        const __half got = halves[each * (to_half * k + n) + d];
        const unsigned bits = __hisnan(got) ? 0xffff : __half_as_ushort(got);
        compare.note(names[n], direction, bits == half_of(of_half[n], direction));
      }
    }
  }
  return compare.differing;
}

}  // namespace hip_language

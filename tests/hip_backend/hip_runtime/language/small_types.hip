// __half, __hip_bfloat16, fp8 and vector types, for every code, beside arithmetic of the host.
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_fp8.h>
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "language.hpp"

namespace hip_language {
namespace {

constexpr unsigned codes = 65536;

// So many results of each code.
template <class Kernel, class... More>
std::vector<std::uint32_t> results_of(Kernel kernel, unsigned each, unsigned count, More... more) {
  std::uint32_t* out = nullptr;
  (void)hipMallocManaged(&out, each * count * sizeof(std::uint32_t));
  kernel<<<(count + 255) / 256, 256>>>(out, more...);
  std::vector<std::uint32_t> results(out, out + each * count);
  (void)hipFree(out);
  return results;
}

std::uint32_t bits_of(float value) {
  if (value != value) return 0x7fc00000;  // one NaN for all
  return __builtin_bit_cast(std::uint32_t, value);
}

struct Named {
  std::vector<std::string> differing;
  // Notes a name once.
  void compare(const std::string& name, bool same) {
    if (!same && std::find(differing.begin(), differing.end(), name) == differing.end())
      differing.push_back(name);
  }
};

// An exact value of a half, without the compiler's own type.
double value_of_half(unsigned code) {
  const int exponent = code >> 10 & 31;
  const double part = code & 1023;
  const double sign = (code & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return part != 0 ? NAN : sign * HUGE_VAL;
  return sign * std::ldexp(exponent == 0 ? part : part + 1024, (exponent == 0 ? 1 : exponent) - 25);
}
double value_of_bfloat16(unsigned code) {
  return __builtin_bit_cast(float, code << 16);
}
// The nearest code of a number, ties to the even one, by search among all positive codes.
unsigned nearest_code(double value, double (*value_of)(unsigned), unsigned infinity) {
  if (value != value) return 0xffff;
  const unsigned sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  unsigned low = 0, high = infinity;
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    (value_of(middle) <= size ? low : high) = middle;
  }
  if (size == HUGE_VAL) return sign | infinity;
  // What lies past the largest is rounded as if the exponents went on.
  const double below = value_of(low);
  const double above =
      high == infinity ? 2 * value_of(infinity - 1) - value_of(infinity - 2) : value_of(high);
  const double to_low = size - below, to_high = above - size;
  const bool up = to_high < to_low || (to_high == to_low && (low & 1) != 0);
  return sign | (up ? high : low);
}

constexpr unsigned half_results = 12;
__global__ void half_kernel(std::uint32_t* out) {
  const auto code = blockIdx.x * blockDim.x + threadIdx.x;
  const __half a = __ushort_as_half(static_cast<unsigned short>(code));
  const __half b = __ushort_as_half(static_cast<unsigned short>(code * 40503 + 12345));
  const auto bits = [](__half h) -> std::uint32_t {
    return __hisnan(h) ? 0xffff : __half_as_ushort(h);
  };
  std::uint32_t* const of = out + half_results * code;
  const float wide = __half2float(a);
  of[0] = wide != wide ? 0x7fc00000 : __float_as_uint(wide);
  of[1] = bits(__float2half_rn(__uint_as_float(code * 65537 + 4321)));
  of[2] = bits(a + b);
  of[3] = bits(__hsub(a, b));
  of[4] = bits(a * b);
  of[5] = bits(a / b);
  of[6] = bits(__hfma(a, b, a));
  of[7] = a < b ? 1 : __hge(a, b) ? 2 : 3;
  of[8] = bits(__habs(a)) ^ bits(-b) << 16;
  const __half2 two = __hfma2(__half2(a, b), __half2(b, a), __half2(b, b));
  of[9] = bits(__low2half(two)) | bits(__high2half(two)) << 16;
  of[10] =
      static_cast<std::uint32_t>(__half2int_rn(a)) ^ bits(__int2half_rn(static_cast<int>(code)));
  of[11] = bits(__hmax(a, b)) | bits(hsqrt(__habs(a))) << 16;
}

unsigned host_half(double value) {
  return nearest_code(value, value_of_half, 0x7c00);
}

constexpr unsigned bf_results = 11;
__global__ void bfloat_kernel(std::uint32_t* out) {
  const auto code = blockIdx.x * blockDim.x + threadIdx.x;
  const __hip_bfloat16 a = __ushort_as_bfloat16(static_cast<unsigned short>(code));
  const __hip_bfloat16 b = __ushort_as_bfloat16(static_cast<unsigned short>(code * 40503 + 12345));
  const auto bits = [](__hip_bfloat16 v) -> std::uint32_t {
    return __hisnan(v) ? 0xffff : __bfloat16_as_ushort(v);
  };
  std::uint32_t* const of = out + bf_results * code;
  const float wide = __bfloat162float(a);
  of[0] = wide != wide ? 0x7fc00000 : __float_as_uint(wide);
  of[1] = bits(__float2bfloat16(__uint_as_float(code * 65537 + 4321)));
  of[2] = bits(a + b);
  of[3] = bits(__hmul(a, b));
  of[4] = bits(a / b);
  of[5] = a < b ? 1 : __hge(a, b) ? 2 : 3;
  of[6] = bits(__habs(a)) ^ bits(-b) << 16;
  const __hip_bfloat162 two = __hip_bfloat162{a, b} - __hip_bfloat162{b, a};
  of[7] = bits(two.x) | bits(two.y) << 16;
  of[8] = bits(__hmax(a, b)) | bits(__hmin(a, b)) << 16;
  const __hip_bfloat162 most = __hmax2({a, b}, {b, b}), least = __hmin2({b, a}, {a, a});
  of[9] = bits(most.x) == bits(__hmax(a, b)) && bits(most.y) == bits(b) &&
          bits(least.x) == bits(__hmin(b, a)) && bits(least.y) == bits(a);
  const __hip_bfloat162 less = __hlt2({a, b}, {b, a}), equal = __heq2({a, b}, {a, a});
  of[10] = bits(less.x) | bits(less.y) << 16;
  of[10] ^= bits(equal.x) << 1 | bits(equal.y) << 17;
}
// Arithmetic of float, rounded once more.
unsigned host_bfloat(float value) {
  return nearest_code(value, value_of_bfloat16, 0x7f80);
}

// Value of an fp8 code from its definition.
double value_of_fp8(unsigned code, __hip_fp8_interpretation_t kind) {
  const bool fnuz = kind == __HIP_E4M3_FNUZ || kind == __HIP_E5M2_FNUZ;
  const int mantissa = kind == __HIP_E4M3 || kind == __HIP_E4M3_FNUZ ? 3 : 2;
  const int bias = (mantissa == 3 ? 7 : 15) + (fnuz ? 1 : 0);
  const unsigned size = code & 0x7f;
  if (fnuz && code == 0x80) return NAN;
  if (kind == __HIP_E4M3 && size == 0x7f) return NAN;
  if (kind == __HIP_E5M2 && size > 0x7c) return NAN;
  if (kind == __HIP_E5M2 && size == 0x7c) return code > 0x80 ? -HUGE_VAL : HUGE_VAL;
  const int exponent = static_cast<int>(size >> mantissa);
  const double part = size & ((1U << mantissa) - 1);
  const double whole = exponent == 0 ? part : part + (1 << mantissa);
  const double value = std::ldexp(whole, (exponent == 0 ? 1 : exponent) - bias - mantissa);
  return (code & 0x80) != 0 ? -value : value;
}
unsigned host_fp8(double value, __hip_fp8_interpretation_t kind) {
  const unsigned largest = kind == __HIP_E4M3 ? 0x7e : kind == __HIP_E5M2 ? 0x7b : 0x7f;
  const double size = std::fabs(value);
  unsigned best = 0;
  for (unsigned code = 1; code <= largest; ++code) {
    const double now = std::fabs(value_of_fp8(code, kind) - size);
    const double before = std::fabs(value_of_fp8(best, kind) - size);
    if (now < before || (now == before && code % 2 == 0)) best = code;
  }
  if (size > value_of_fp8(largest, kind)) best = largest;
  const bool fnuz = kind == __HIP_E4M3_FNUZ || kind == __HIP_E5M2_FNUZ;
  if (best == 0 && fnuz) return 0;
  return best | (std::signbit(value) ? 0x80 : 0);
}

__global__ void fp8_kernel(std::uint32_t* out, __hip_fp8_interpretation_t kind) {
  const auto code = blockIdx.x * blockDim.x + threadIdx.x;
  // Every half, as a number: fp8 has its ties among them.
  const __half value = __ushort_as_half(static_cast<unsigned short>(code));
  const __half_raw raw = value;
  const auto from_half = __hip_cvt_halfraw_to_fp8(raw, __HIP_SATFINITE, kind);
  const auto from_double =
      __hip_cvt_double_to_fp8(__half2float(value) * 1.0000000001, __HIP_SATFINITE, kind);
  const __half back(__hip_cvt_fp8_to_halfraw(static_cast<unsigned char>(code), kind));
  out[2 * code] = from_half | from_double << 8;
  out[2 * code + 1] = __float_as_uint(__half2float(back));
}

template <class One, class Four>
__global__ void fp8_types_kernel(std::uint32_t* out) {
  const auto i = blockIdx.x * blockDim.x + threadIdx.x;
  const float base = static_cast<float>(i) * 0.37F;
  const Four four(make_float4(base, -base, base * 2, base + 1));
  const float4 back = four;
  out[2 * i] = four.__x;
  out[2 * i + 1] = back.x == static_cast<float>(One(base)) && back.y == -back.x &&
                   static_cast<float>(One(1000000.0F)) == static_cast<float>(One(HUGE_VALF)) &&
                   back.w == static_cast<float>(One(base + 1));
}

__global__ void vectors_kernel(std::uint32_t* out) {
  if (threadIdx.x != 0) return;
  bool right[12];
  float4 a = make_float4(1, 2, 3, 4);
  a += 1.0F;
  right[0] = a == make_float4(2, 3, 4, 5) && 2.0F * a == a + a && a / 2 != a;
  int3 b{7, 8, 9};
  right[1] = -b == int3{-7, -8, -9} && b % 4 == int3{3, 0, 1} && (b << 1) == b * 2;
  uchar4 c = make_uchar4(250, 251, 252, 253);
  c += make_uchar4(10, 10, 10, 10);
  right[2] = c.x == 4 && c.w == 7;
  right[3] = ++b == int3{8, 9, 10} && b++ == int3{8, 9, 10} && b-- == int3{9, 10, 11} &&
             --b == int3{7, 8, 9};
  right[4] = (make_uint2(12, 10) & make_uint2(10, 6)) == make_uint2(8, 2) &&
             ~make_uint2(0, 1) == make_uint2(~0U, ~1U);
  double2 d(1.5);
  d *= make_double2(2, 4);
  right[5] = d.x == 3 && d.y == 6 && d[1] == 6;
  right[6] = sizeof(float3) == 12 && alignof(float4) == 16 && sizeof(char3) == 3 &&
             alignof(double2) == 16 && alignof(short4) == 8 && sizeof(longlong4) == 32;
  const uint3 place = threadIdx;
  const dim3 blocks = gridDim;
  right[7] = place.x == 0 && blocks.x == 1 && blocks.y == 1;
  right[8] = make_ulong1(5).x == 5 && make_char2(-1, 1).x == -1;
  float2 e = {1, 2};
  e -= e * 2;
  right[9] = e == make_float2(-1, -2) && (e == e) && !(e != e);
  right[10] = make_longlong3(1LL << 40, 2, 3).x == 1LL << 40;
  right[11] = (make_ushort2(3, 5) ^ make_ushort2(1, 1)) == make_ushort2(2, 4);
  for (int k = 0; k < 12; ++k) out[k] = right[k];
}

}  // namespace

std::vector<std::string> differing_half() {
  Named out;
  const auto results = results_of(half_kernel, half_results, codes);
  for (unsigned code = 0; code < codes; ++code) {
    const std::uint32_t* const of = results.data() + half_results * code;
    const unsigned other = (code * 40503 + 12345) & 0xffff;
    const double a = value_of_half(code), b = value_of_half(other);
    const double wide = __builtin_bit_cast(float, code * 65537 + 4321);
    out.compare("__half2float", of[0] == bits_of(static_cast<float>(a)));
    out.compare("__float2half_rn", of[1] == host_half(wide));
    out.compare("+", of[2] == host_half(a + b));
    out.compare("__hsub", of[3] == host_half(a - b));
    out.compare("*", of[4] == host_half(a * b));
    out.compare("/", of[5] == host_half(a / b));
    out.compare("__hfma", of[6] == host_half(std::fma(a, b, a)));
    out.compare("< and __hge", of[7] == (a < b ? 1 : a >= b ? 2 : 3));
    const unsigned size = a != a ? 0xffff : code & 0x7fff;
    out.compare("__habs and -", of[8] == (size ^ (b != b ? 0xffff : other ^ 0x8000) << 16));
    out.compare("__hfma2",
                of[9] == (host_half(std::fma(a, b, b)) | host_half(std::fma(b, a, b)) << 16));
    const auto whole = static_cast<std::uint32_t>(static_cast<int>(std::nearbyint(a)));
    if (std::isfinite(a))
      out.compare("__half2int_rn and __int2half_rn", of[10] == (whole ^ host_half(code)));
    const double most = a > b || b != b ? a : b;
    out.compare("__hmax and hsqrt",
                of[11] == (host_half(most) | host_half(std::sqrt(std::fabs(a))) << 16));
  }
  return out.differing;
}

std::vector<std::string> differing_bfloat16() {
  Named out;
  const auto results = results_of(bfloat_kernel, bf_results, codes);
  for (unsigned code = 0; code < codes; ++code) {
    const std::uint32_t* const of = results.data() + bf_results * code;
    const unsigned other = (code * 40503 + 12345) & 0xffff;
    const auto a = static_cast<float>(value_of_bfloat16(code));
    const auto b = static_cast<float>(value_of_bfloat16(other));
    out.compare("__bfloat162float", of[0] == bits_of(a));
    out.compare("__float2bfloat16",
                of[1] == host_bfloat(__builtin_bit_cast(float, code * 65537 + 4321)));
    out.compare("+", of[2] == host_bfloat(a + b));
    out.compare("__hmul", of[3] == host_bfloat(a * b));
    out.compare("/", of[4] == host_bfloat(a / b));
    out.compare("< and __hge", of[5] == (a < b ? 1U : a >= b ? 2U : 3U));
    const unsigned size = a != a ? 0xffff : code & 0x7fff;
    out.compare("__habs and -", of[6] == (size ^ (b != b ? 0xffff : other ^ 0x8000) << 16));
    out.compare("- of two", of[7] == (host_bfloat(a - b) | host_bfloat(b - a) << 16));
    // A NaN is left out where the other is a number; which zero comes of two is open.
    const auto is = [](std::uint32_t got, float wanted) {
      return wanted != wanted ? got == 0xffff : value_of_bfloat16(got) == wanted;
    };
    out.compare("__hmax", is(of[8] & 0xffff, std::fmax(a, b)));
    out.compare("__hmin", is(of[8] >> 16, std::fmin(a, b)));
    out.compare("__hmax2 and __hmin2", of[9] == 1);
    const auto truth = [](bool x, bool y) { return x * 0x3f80U | y * 0x3f800000U; };
    out.compare("__hlt2 and __heq2", of[10] == (truth(a < b, b < a) ^ truth(a == a, b == a) << 1));
  }
  return out.differing;
}

std::vector<std::string> differing_fp8() {
  Named out;
  const char* const names[] = {"e4m3", "e5m2", "e4m3_fnuz", "e5m2_fnuz"};
  for (const auto kind : {__HIP_E4M3, __HIP_E5M2, __HIP_E4M3_FNUZ, __HIP_E5M2_FNUZ}) {
    const auto results = results_of(fp8_kernel, 2, codes, kind);
    for (unsigned code = 0; code < codes; ++code) {
      const double value = value_of_half(code);
      const unsigned got = results[2 * code];
      if (value == value) {
        out.compare(names[kind], (got & 0xff) == host_fp8(value, kind));
        out.compare(names[kind] + std::string(" of double"),
                    got >> 8 == host_fp8(value * 1.0000000001, kind));
      } else {
        out.compare(names[kind] + std::string(" of NaN"),
                    std::isnan(value_of_fp8(got & 0xff, kind)));
      }
      out.compare(names[kind] + std::string(" to half"),
                  bits_of(__builtin_bit_cast(float, results[2 * code + 1])) ==
                      bits_of(static_cast<float>(value_of_fp8(code & 0xff, kind))));
    }
  }
  const auto types = [&](const std::vector<std::uint32_t>& results, const char* name,
                         __hip_fp8_interpretation_t kind) {
    for (unsigned i = 0; i < 256; ++i) {
      const float base = static_cast<float>(i) * 0.37F;
      out.compare(name, results[2 * i + 1] == 1 && (results[2 * i] & 0xff) == host_fp8(base, kind));
    }
  };
  types(results_of(fp8_types_kernel<__hip_fp8_e4m3, __hip_fp8x4_e4m3>, 2, 256), "x4 of e4m3",
        __HIP_E4M3);
  types(results_of(fp8_types_kernel<__hip_fp8_e5m2_fnuz, __hip_fp8x4_e5m2_fnuz>, 2, 256),
        "x4 of e5m2_fnuz", __HIP_E5M2_FNUZ);
  return out.differing;
}

std::vector<std::string> differing_vector_types() {
  Named out;
  const auto results = results_of(vectors_kernel, 1, 12);
  for (unsigned k = 0; k < 12; ++k) out.compare("line " + std::to_string(k), results[k] == 1);
  return out.differing;
}

}  // namespace hip_language

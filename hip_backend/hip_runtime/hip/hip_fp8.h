// fp8: e4m3 and e5m2 as OCP defines them, and the fnuz variants (no infinity, no negative zero).
// gfx942 calculates with fnuz, gfx950 with OCP; every conversion here exists on both, and on the
// host, with the same bits. Rounding is to nearest even.
#pragma once

#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>

using __hip_fp8_storage_t = unsigned char;
using __hip_fp8x2_storage_t = unsigned short;
using __hip_fp8x4_storage_t = unsigned;
enum __hip_saturation_t { __HIP_NOSAT, __HIP_SATFINITE };
enum __hip_fp8_interpretation_t { __HIP_E4M3, __HIP_E5M2, __HIP_E4M3_FNUZ, __HIP_E5M2_FNUZ };

namespace mla_hip {

struct Fp8Format {
  int mantissa, bias;  // bits, and of the exponent
  bool fnuz;
  unsigned most, nan;  // magnitudes
  bool has_infinity;   // 0x7c
};
__host__ __device__ constexpr Fp8Format fp8_format(__hip_fp8_interpretation_t kind) {
  return kind == __HIP_E4M3        ? Fp8Format{3, 7, false, 0x7e, 0x7f, false}
         : kind == __HIP_E5M2      ? Fp8Format{2, 15, false, 0x7b, 0x7e, true}
         : kind == __HIP_E4M3_FNUZ ? Fp8Format{3, 8, true, 0x7f, 0x80, false}
                                   : Fp8Format{2, 16, true, 0x7f, 0x80, false};
}

__host__ __device__ inline unsigned char to_fp8(float value, __hip_saturation_t saturation,
                                                __hip_fp8_interpretation_t kind) {
  const Fp8Format format = fp8_format(kind);
  const auto bits = __builtin_bit_cast(unsigned, value);
  const unsigned sign = bits >> 24 & 0x80;
  const unsigned size = bits & 0x7fffffff;
  if (size > 0x7f800000) return static_cast<unsigned char>(format.fnuz ? 0x80 : sign | format.nan);
  // Past the largest: that one, or infinity, or NaN.
  const unsigned over = saturation == __HIP_SATFINITE ? sign | format.most
                        : format.has_infinity         ? sign | 0x7c
                        : format.fnuz                 ? format.nan
                                                      : sign | format.nan;
  if (size == 0x7f800000) return static_cast<unsigned char>(over);
  // The mantissa with its hidden bit, in units of the format's last place.
  int exponent = static_cast<int>(size >> 23) - 127;
  const unsigned long long mantissa =
      size >> 23 == 0 ? size & 0x7fffff : (size & 0x7fffff) | 0x800000;
  if (size >> 23 == 0) exponent = -126;
  const int least = 1 - format.bias;
  const int scale = exponent < least ? least : exponent;
  const int drop = 23 - format.mantissa + (scale - exponent);
  unsigned long long kept = 0;
  if (drop < 40) {
    const unsigned long long half = 1ULL << (drop - 1);
    kept = mantissa >> drop;
    const unsigned long long rest = mantissa & ((1ULL << drop) - 1);
    if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  }
  const unsigned long long code =
      kept + (static_cast<unsigned long long>(scale - least) << format.mantissa);
  if (code > format.most) return static_cast<unsigned char>(over);
  if (code == 0 && format.fnuz) return 0;
  return static_cast<unsigned char>(sign | code);
}
__host__ __device__ inline float from_fp8(unsigned char code, __hip_fp8_interpretation_t kind) {
  const Fp8Format format = fp8_format(kind);
  const unsigned sign = static_cast<unsigned>(code & 0x80) << 24, size = code & 0x7f;
  const bool nan = format.fnuz ? code == 0x80 : format.has_infinity ? size > 0x7c : size == 0x7f;
  if (nan) return __builtin_nanf("");
  if (format.has_infinity && size == 0x7c) return __builtin_bit_cast(float, sign | 0x7f800000);
  const int exponent = static_cast<int>(size >> format.mantissa);
  const unsigned part = size & ((1U << format.mantissa) - 1);
  const unsigned whole = exponent == 0 ? part : part | 1U << format.mantissa;
  const int power = (exponent == 0 ? 1 : exponent) - format.bias - format.mantissa;
  const float unit = __builtin_bit_cast(float, static_cast<unsigned>(power + 127) << 23);
  const float out = static_cast<float>(whole) * unit;
  return sign != 0 ? -out : out;
}

}  // namespace mla_hip

#define MLA_FP8 __host__ __device__ inline
MLA_FP8 __hip_fp8_storage_t __hip_cvt_float_to_fp8(float value, __hip_saturation_t saturation,
                                                   __hip_fp8_interpretation_t kind) {
  return mla_hip::to_fp8(value, saturation, kind);
}
// A double is rounded once: to odd on the way through float.
MLA_FP8 __hip_fp8_storage_t __hip_cvt_double_to_fp8(double value, __hip_saturation_t saturation,
                                                    __hip_fp8_interpretation_t kind) {
  auto close = static_cast<float>(value);
  auto bits = __builtin_bit_cast(unsigned, close);
  if (static_cast<double>(close) != value && value == value && (bits & 1) == 0) {
    const bool away = __builtin_fabs(static_cast<double>(close)) > __builtin_fabs(value);
    bits = away ? bits - 1 : bits | 1;
    close = __builtin_bit_cast(float, bits);
  }
  return mla_hip::to_fp8(close, saturation, kind);
}
MLA_FP8 __hip_fp8x2_storage_t __hip_cvt_float2_to_fp8x2(float2 v, __hip_saturation_t saturation,
                                                        __hip_fp8_interpretation_t kind) {
  return static_cast<__hip_fp8x2_storage_t>(mla_hip::to_fp8(v.x, saturation, kind) |
                                            mla_hip::to_fp8(v.y, saturation, kind) << 8);
}
MLA_FP8 __half_raw __hip_cvt_fp8_to_halfraw(__hip_fp8_storage_t code,
                                            __hip_fp8_interpretation_t kind) {
  return __half(mla_hip::from_fp8(code, kind));
}
MLA_FP8 __hip_fp8_storage_t __hip_cvt_halfraw_to_fp8(__half_raw value,
                                                     __hip_saturation_t saturation,
                                                     __hip_fp8_interpretation_t kind) {
  return mla_hip::to_fp8(static_cast<float>(value.data), saturation, kind);
}
MLA_FP8 __hip_fp8_storage_t __hip_cvt_bfloat16raw_to_fp8(__hip_bfloat16_raw value,
                                                         __hip_saturation_t saturation,
                                                         __hip_fp8_interpretation_t kind) {
  return mla_hip::to_fp8(__hip_bfloat16(value), saturation, kind);
}

namespace mla_hip {

// One, two and four codes of a format. To make one from a number saturates.
template <__hip_fp8_interpretation_t kind>
struct Fp8 {
  static constexpr __hip_fp8_interpretation_t __default_interpret = kind;
  static constexpr __hip_saturation_t __default_saturation = __HIP_SATFINITE;
  __hip_fp8_storage_t __x;
  Fp8() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  MLA_FP8 explicit Fp8(T value) : __x(__hip_cvt_double_to_fp8(value, __HIP_SATFINITE, kind)) {}
  MLA_FP8 explicit Fp8(__half value) : __x(to_fp8(value, __HIP_SATFINITE, kind)) {}
  MLA_FP8 explicit Fp8(__hip_bfloat16 value) : __x(to_fp8(value, __HIP_SATFINITE, kind)) {}
  MLA_FP8 operator float() const { return from_fp8(__x, kind); }
  MLA_FP8 explicit operator double() const { return from_fp8(__x, kind); }
  MLA_FP8 explicit operator __half() const { return __half(from_fp8(__x, kind)); }
  MLA_FP8 explicit operator __hip_bfloat16() const { return from_fp8(__x, kind); }
  MLA_FP8 explicit operator int() const { return static_cast<int>(from_fp8(__x, kind)); }
  MLA_FP8 explicit operator bool() const { return from_fp8(__x, kind) != 0; }
};
template <__hip_fp8_interpretation_t kind>
struct Fp8x2 {
  __hip_fp8x2_storage_t __x;
  Fp8x2() = default;
  MLA_FP8 explicit Fp8x2(float2 v) : __x(__hip_cvt_float2_to_fp8x2(v, __HIP_SATFINITE, kind)) {}
  MLA_FP8 operator float2() const {
    return {from_fp8(static_cast<unsigned char>(__x), kind),
            from_fp8(static_cast<unsigned char>(__x >> 8), kind)};
  }
};
template <__hip_fp8_interpretation_t kind>
struct Fp8x4 {
  __hip_fp8x4_storage_t __x;
  Fp8x4() = default;
  MLA_FP8 explicit Fp8x4(float4 v)
      : __x(__hip_cvt_float2_to_fp8x2({v.x, v.y}, __HIP_SATFINITE, kind) |
            static_cast<unsigned>(__hip_cvt_float2_to_fp8x2({v.z, v.w}, __HIP_SATFINITE, kind))
                << 16) {}
  MLA_FP8 operator float4() const {
    float out[4];
    for (unsigned k = 0; k < 4; ++k)
      out[k] = from_fp8(static_cast<unsigned char>(__x >> 8 * k), kind);
    return {out[0], out[1], out[2], out[3]};
  }
};

}  // namespace mla_hip

#define MLA_NAMES(name, kind)                      \
  using __hip_fp8_##name = mla_hip::Fp8<kind>;     \
  using __hip_fp8x2_##name = mla_hip::Fp8x2<kind>; \
  using __hip_fp8x4_##name = mla_hip::Fp8x4<kind>;
MLA_NAMES(e4m3, __HIP_E4M3)
MLA_NAMES(e5m2, __HIP_E5M2)
MLA_NAMES(e4m3_fnuz, __HIP_E4M3_FNUZ)
MLA_NAMES(e5m2_fnuz, __HIP_E5M2_FNUZ)
#undef MLA_NAMES
#undef MLA_FP8

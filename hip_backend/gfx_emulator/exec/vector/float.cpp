// f32 arithmetic, rounding and conversions.
#include "hip_backend/gfx_emulator/exec/half-inl.hpp"

namespace mla::gfx {
namespace {

inline float fma(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}

// Legacy multiplication: zero times anything is zero.
inline float mul_legacy(float a, float b) {
  return a == 0 || b == 0 ? 0.0F : a * b;
}

inline float fraction(float a) {
  const float f = a - __builtin_floorf(a);
  return f >= 1 ? 0x1.fffffep-1F : f;
}

inline int exponent_of(float a) {
  const u32 magnitude = bits_of(a) & 0x7fffffff;
  if (magnitude == 0 || magnitude >= 0x7f800000) return 0;
  const int exponent = static_cast<int>(magnitude >> 23);
  return exponent != 0 ? exponent - 126 : -117 - std::countl_zero(magnitude);
}

inline float significand_of(float a) {
  const u32 magnitude = bits_of(a) & 0x7fffffff;
  if (magnitude == 0 || magnitude >= 0x7f800000) return a;
  u32 fraction_bits = magnitude & 0x7fffff;
  if (magnitude < 0x800000) {
    fraction_bits = (magnitude << (std::countl_zero(magnitude) - 8)) & 0x7fffff;
  }
  return float_of((bits_of(a) & 0x80000000) | 126U << 23 | fraction_bits);
}

inline float scaled(float a, i32 by) {
  return std::ldexp(a, by);
}

template <unsigned shift>
constexpr Handler from_byte() {
  return each_lane([](u32 a) { return static_cast<float>(static_cast<i32>(a >> shift & 0xff)); });
}

inline u32 byte_of(float a) {
  const float r = __builtin_rintf(a);
  return r > 0 ? r < 255 ? static_cast<u32>(static_cast<i32>(r)) : 255 : 0;
}

void to_f16(Wave& w, const Inst& i) {
  const Source<float> a(w, i, 0);
  if (limits_halves(w)) {
    return store_lanes<Half, false>(w, i, [&](unsigned l) { return ToLimit{}(a[l]); });
  }
  store_lanes<Half, false>(w, i, [&](unsigned l) { return ToNearest{}(a[l]); });
}
void to_f16_pair(Wave& w, const Inst& i) {
  const Source<float> a(w, i, 0), b(w, i, 1);
  store_lanes<u32, false>(w, i, [&](unsigned l) {
    return half_result(w, a[l]).bits | u32{half_result(w, b[l]).bits} << 16;
  });
}

const Entry entries[] = {
    {"v_add_f32", each_lane([](float a, float b) { return a + b; })},
    {"v_sub_f32", each_lane([](float a, float b) { return a - b; })},
    {"v_subrev_f32", each_lane([](float a, float b) { return b - a; })},
    {"v_mul_f32", each_lane([](float a, float b) { return a * b; })},
    {"v_mul_legacy_f32", each_lane([](float a, float b) { return mul_legacy(a, b); })},
    {"v_min_f32", each_lane([](float a, float b) { return minimum(a, b); })},
    {"v_max_f32", each_lane([](float a, float b) { return maximum(a, b); })},
    {"v_fma_f32", each_lane([](float a, float b, float c) { return fma(a, b, c); })},
    {"v_fmac_f32", each_lane([](float a, float b, float c) { return fma(a, b, c); })},
    {"v_fmamk_f32", each_lane([](float a, float b, float c) { return fma(a, b, c); })},
    {"v_fmaak_f32", each_lane([](float a, float b, float c) { return fma(a, b, c); })},
    {"v_min3_f32", each_lane([](float a, float b, float c) { return minimum(minimum(a, b), c); })},
    {"v_max3_f32", each_lane([](float a, float b, float c) { return maximum(maximum(a, b), c); })},
    {"v_med3_f32", each_lane([](float a, float b, float c) { return median(a, b, c); })},
    {"v_minimum3_f32", each_lane([](float a, float b, float c) {
       return is_nan(a) || is_nan(b) || is_nan(c) ? a + b + c : minimum(minimum(a, b), c);
     })},
    {"v_maximum3_f32", each_lane([](float a, float b, float c) {
       return is_nan(a) || is_nan(b) || is_nan(c) ? a + b + c : maximum(maximum(a, b), c);
     })},
    {"v_trunc_f32", each_lane([](float a) { return __builtin_truncf(a); })},
    {"v_ceil_f32", each_lane([](float a) { return __builtin_ceilf(a); })},
    {"v_floor_f32", each_lane([](float a) { return __builtin_floorf(a); })},
    {"v_fract_f32", each_lane([](float a) { return fraction(a); })},
    {"v_frexp_exp_i32_f32", each_lane([](float a) -> i32 { return exponent_of(a); })},
    {"v_frexp_mant_f32", each_lane([](float a) { return significand_of(a); })},
    {"v_ldexp_f32", each_lane([](float a, i32 b) { return scaled(a, b); })},
    {"v_cvt_f32_i32", each_lane([](i32 a) { return static_cast<float>(a); })},
    {"v_cvt_f32_u32", each_lane([](u32 a) { return static_cast<float>(a); })},
    {"v_cvt_i32_f32", each_lane([](float a) { return to_integer<i32>(a); })},
    {"v_cvt_u32_f32", each_lane([](float a) { return to_integer<u32>(a); })},
    {"v_cvt_rpi_i32_f32",
     each_lane([](float a) { return to_integer<i32>(__builtin_floorf(a + 0.5F)); })},
    {"v_cvt_flr_i32_f32", each_lane([](float a) { return to_integer<i32>(__builtin_floorf(a)); })},
    {"v_cvt_f32_ubyte0", from_byte<0>()},
    {"v_cvt_f32_ubyte1", from_byte<8>()},
    {"v_cvt_f32_ubyte2", from_byte<16>()},
    {"v_cvt_f32_ubyte3", from_byte<24>()},
    {"v_cvt_off_f32_i4", each_lane([](u32 a) {
       return static_cast<float>(static_cast<i32>(a << 28) >> 28) * 0x1p-4F;
     })},
    {"v_cvt_pk_u8_f32", each_lane([](float a, u32 b, u32 c) {
       const u32 shift = 8 * (b & 3);
       return (c & ~(0xffU << shift)) | byte_of(a) << shift;
     })},
    {"v_cvt_f16_f32", to_f16},
    {"v_cvt_f32_f16", each_lane([](Half a) { return to_float(a); })},
    {"v_cvt_f32_bf16", each_lane([](u16 a) { return bf16_to_float(a); })},
    {"v_cvt_pkrtz_f16_f32", each_lane([](float a, float b) -> u32 {
       return to_half_truncated(a).bits | static_cast<u32>(to_half_truncated(b).bits) << 16;
     })},
    {"v_cvt_pk_f16_f32", to_f16_pair},
    {"v_cvt_pk_bf16_f32",
     each_lane([](float a, float b) -> u32 { return to_bf16(a) | to_bf16(b) << 16; })},
    {"v_cvt_sr_bf16_f32", each_lane_keeping_high([](float a, u32 random) -> u16 {
       return static_cast<u16>(is_nan(a) ? to_bf16(a) : (bits_of(a) + (random >> 16)) >> 16);
     })},
    {"v_cvt_pknorm_i16_f32", each_lane([](float a, float b) -> u32 {
       const auto norm = [](float x) {
         const float limited = x >= -1 ? x <= 1 ? x : 1.0F : x < -1 ? -1.0F : 0.0F;
         return static_cast<u32>(static_cast<i32>(__builtin_rintf(limited * 32767))) & 0xffff;
       };
       return norm(a) | norm(b) << 16;
     })},
    {"v_cvt_pknorm_u16_f32", each_lane([](float a, float b) -> u32 {
       const auto norm = [](float x) {
         const float limited = x > 0 ? x <= 1 ? x : 1.0F : 0.0F;
         return static_cast<u32>(static_cast<i32>(__builtin_rintf(limited * 65535)));
       };
       return norm(a) | norm(b) << 16;
     })},
};

}  // namespace

Entries MLA_GFX_PATH::float_entries() {
  return entries;
}

}  // namespace mla::gfx

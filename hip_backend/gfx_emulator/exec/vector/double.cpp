// f64 arithmetic and conversions. The denormals of f64 are always kept (each_lane sees to it).
#include "hip_backend/gfx_emulator/exec/half-inl.hpp"

namespace mla::gfx {
namespace {

inline double lower(double a, double b) {
  return a < b || std::isnan(b) || (a == b && std::signbit(a)) ? a : b;
}
inline double higher(double a, double b) {
  return a > b || std::isnan(b) || (a == b && std::signbit(b)) ? a : b;
}
inline double fraction(double a) {
  const double f = a - __builtin_floor(a);
  return f >= 1 ? 0x1.fffffffffffffp-1 : f;
}
inline i32 exponent_of(double a) {
  return a == 0 || !std::isfinite(a) ? 0 : std::ilogb(a) + 1;
}
inline double significand_of(double a) {
  if (a == 0 || !std::isfinite(a)) return a;
  int exponent = 0;
  return std::frexp(a, &exponent);
}

// 53 bits of 2/pi from bit `segment` * 53 on, scaled for the exponent of `a`; there are 1201 bits.
constexpr u32 known_bits = 1201;
constexpr u64 two_over_pi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

double trig_preop(double a, i32 segment) {
  const auto exponent = static_cast<i32>(std::bit_cast<u64>(a) >> 52 & 0x7ff);
  u32 shift = static_cast<u32>(segment & 31) * 53;
  if (exponent > 1077) shift += static_cast<u32>(exponent - 1077);
  u64 bits = 0;
  for (unsigned k = 0; k < 53; ++k) {
    const u32 at = shift + k;
    const u64 bit = at < known_bits ? two_over_pi[at / 64] >> (63 - at % 64) & 1 : 0;
    bits = bits << 1 | bit;
  }
  int scale = -53 - static_cast<int>(shift);
  if (exponent >= 1968) scale += 128;
  return std::ldexp(static_cast<double>(bits), scale);
}

// Sums and products, which bits 2 and 3 of MODE round as they do those of f16.
template <class F>
constexpr Handler rounded_by_mode(F) {
  return [](Wave& w, const Inst& i) {
    use_half_rounding(w);
    run_lanes<F, false>(w, i);
  };
}

const Entry entries[] = {
    {"v_add_f64", rounded_by_mode([](double a, double b) { return a + b; })},
    {"v_mul_f64", rounded_by_mode([](double a, double b) { return a * b; })},
    {"v_min_f64", each_lane([](double a, double b) { return lower(a, b); })},
    {"v_max_f64", each_lane([](double a, double b) { return higher(a, b); })},
    {"v_fma_f64",
     rounded_by_mode([](double a, double b, double c) { return __builtin_fma(a, b, c); })},
    {"v_fmac_f64",
     rounded_by_mode([](double a, double b, double c) { return __builtin_fma(a, b, c); })},
    {"v_trunc_f64", each_lane([](double a) { return __builtin_trunc(a); })},
    {"v_ceil_f64", each_lane([](double a) { return __builtin_ceil(a); })},
    {"v_floor_f64", each_lane([](double a) { return __builtin_floor(a); })},
    {"v_rndne_f64", each_lane([](double a) { return __builtin_nearbyint(a); })},
    {"v_fract_f64", each_lane([](double a) { return fraction(a); })},
    {"v_rcp_f64", each_lane([](double a) { return 1.0 / a; })},
    {"v_rsq_f64", each_lane([](double a) { return 1.0 / __builtin_sqrt(a); })},
    {"v_sqrt_f64", each_lane([](double a) { return __builtin_sqrt(a); })},
    {"v_frexp_exp_i32_f64", each_lane([](double a) { return exponent_of(a); })},
    {"v_frexp_mant_f64", each_lane([](double a) { return significand_of(a); })},
    {"v_ldexp_f64", each_lane([](double a, i32 b) { return std::ldexp(a, b); })},
    {"v_trig_preop_f64", each_lane([](double a, i32 b) { return trig_preop(a, b); })},
    {"v_cvt_f64_i32", each_lane([](i32 a) { return static_cast<double>(a); })},
    {"v_cvt_f64_u32", each_lane([](u32 a) { return static_cast<double>(a); })},
    {"v_cvt_i32_f64", each_lane([](double a) { return to_integer<i32>(a); })},
    {"v_cvt_u32_f64", each_lane([](double a) { return to_integer<u32>(a); })},
    {"v_cvt_f32_f64", each_lane([](double a) { return static_cast<float>(a); })},
    {"v_cvt_f64_f32", each_lane([](float a) { return static_cast<double>(a); })},
};

}  // namespace

Entries MLA_GFX_PATH::double_entries() {
  return entries;
}

}  // namespace mla::gfx

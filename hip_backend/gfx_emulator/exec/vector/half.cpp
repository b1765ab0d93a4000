// f16 arithmetic: in f32, rounded once. Sums, products, quotients and roots of f16 round twice
// without harm there (24 >= 2 * 11 + 2 bits); a fused multiply-add goes through f64 rounded to odd.
#include <algorithm>

#include "hip_backend/gfx_emulator/exec/half-inl.hpp"

namespace mla::gfx {
namespace {

// A function of f32 whose result becomes f16, to nearest whatever MODE says.
template <class F>
constexpr Handler half_unary(F) {
  return [](Wave& w, const Inst& i) {
    keep_denormals(w);
    const auto nearest = [](Half a) { return ToNearest{}(F{}(to_float(a))); };
    const auto limit = [](Half a) { return ToLimit{}(F{}(to_float(a))); };
    if (limits_halves(w)) return run_lanes<decltype(limit), false>(w, i);
    run_lanes<decltype(nearest), false>(w, i);
  };
}
// Sums, products, minima: as MODE says.
template <class F>
constexpr Handler half_binary(F) {
  return [](Wave& w, const Inst& i) {
    use_half_rounding(w);
    const auto nearest = [](Half a, Half b) { return ToNearest{}(F{}(to_float(a), to_float(b))); };
    if (!rounds_halves_otherwise(w)) return run_lanes<decltype(nearest), false>(w, i);
    const Source<Half> a(w, i, 0), b(w, i, 1);
    store_lanes<Half, false>(
        w, i, [&](unsigned l) { return rounded_half(w, F{}(to_float(a[l]), to_float(b[l]))); });
  };
}
template <class F>
constexpr Handler half_ternary(F) {
  return each_lane(
      [](Half a, Half b, Half c) { return to_half(F{}(to_float(a), to_float(b), to_float(c))); });
}

// F(round, a, b, c) with the rounding of MODE; `keep_high`: the upper half stays.
template <bool keep_high, class F>
constexpr Handler multiply_add(F) {
  return [](Wave& w, const Inst& i) {
    use_half_rounding(w);
    const auto nearest = [](Half a, Half b, Half c) { return F{}(ToNearest{}, a, b, c); };
    if (!rounds_halves_otherwise(w)) return run_lanes<decltype(nearest), keep_high>(w, i);
    const Source<Half> a(w, i, 0), b(w, i, 1), c(w, i, 2);
    const auto round = [&](float value) { return rounded_half(w, value); };
    store_lanes<Half, keep_high>(w, i, [&](unsigned l) { return F{}(round, a[l], b[l], c[l]); });
  };
}

struct Fused {
  template <class Round>
  Half operator()(Round round, Half a, Half b, Half c) const {
    return round(fused_half(a, b, c));
  }
};

// A product rounded to f16, and a sum rounded again.
struct Unfused {
  template <class Round>
  Half operator()(Round round, Half a, Half b, Half c) const {
    return round(to_float(round(to_float(a) * to_float(b))) + to_float(c));
  }
};

// v_pk_fmac_f16: both halves of a register. No encoding has bits that choose halves or signs; a
// constant is the low half alone, as in packed operations.
void packed_fmac(Wave& w, const Inst& i) {
  alignas(64) u32 in[3][lanes];
  alignas(64) u32 out[lanes];
  use_half_rounding(w);
  for (unsigned k = 0; k < 3; ++k) fetch(w, i, k, Kind::packed, in[k]);
  const auto round = [&](float value) { return rounded_half(w, value); };
  const auto part = [&](unsigned l, unsigned shift) -> u32 {
    const auto half = [&](unsigned k) { return Half{static_cast<u16>(in[k][l] >> shift)}; };
    return Fused{}(round, half(0), half(1), half(2)).bits;
  };
  for (unsigned l = 0; l < lanes; ++l) out[l] = part(l, 0) | part(l, 16) << 16;
  finish(w, i, Kind::b32, false, out);
}

inline Half div_fixup(Half quotient, Half denominator, Half numerator) {
  const float q = to_float(quotient), d = to_float(denominator), n = to_float(numerator);
  const float sign = std::signbit(d) != std::signbit(n) ? -1.0F : 1.0F;
  if (is_nan(n)) return to_half(n);
  if (is_nan(d)) return to_half(d);
  if ((n == 0 && d == 0) || (std::isinf(n) && std::isinf(d))) return Half{0x7e00};
  if (d == 0 || std::isinf(n)) return to_half(sign * HUGE_VALF);
  if (n == 0 || std::isinf(d)) return to_half(sign * 0.0F);
  return to_half(std::copysign(q, sign));
}

void ldexp(Wave& w, const Inst& i) {
  const auto scaled = [](Half a, i16 b) { return std::ldexp(to_float(a), std::min<int>(b, 60)); };
  const Source<Half> a(w, i, 0);
  const Source<i16> b(w, i, 1);
  store_lanes<Half, false>(w, i, [&](unsigned l) { return rounded_half(w, scaled(a[l], b[l])); });
}

// Only 65520 and more round past the largest number.
void from_u16(Wave& w, const Inst& i) {
  const Source<u16> a(w, i, 0);
  store_lanes<Half, false>(w, i,
                           [&](unsigned l) { return half_result(w, static_cast<float>(a[l])); });
}

template <class To>
constexpr Handler to_short() {
  return each_lane([](Half a) {
    const float value = __builtin_truncf(to_float(a));
    constexpr float low = std::is_signed_v<To> ? -32768.0F : 0.0F;
    constexpr float high = std::is_signed_v<To> ? 32767.0F : 65535.0F;
    const float limited = value > low ? value < high ? value : high : value <= low ? low : 0.0F;
    return static_cast<To>(static_cast<i32>(limited));
  });
}

const Entry entries[] = {
    {"v_add_f16", half_binary([](float a, float b) { return a + b; })},
    {"v_sub_f16", half_binary([](float a, float b) { return a - b; })},
    {"v_subrev_f16", half_binary([](float a, float b) { return b - a; })},
    {"v_mul_f16", half_binary([](float a, float b) { return a * b; })},
    {"v_min_f16", half_binary([](float a, float b) { return minimum(a, b); })},
    {"v_max_f16", half_binary([](float a, float b) { return maximum(a, b); })},
    {"v_min3_f16",
     half_ternary([](float a, float b, float c) { return minimum(minimum(a, b), c); })},
    {"v_max3_f16",
     half_ternary([](float a, float b, float c) { return maximum(maximum(a, b), c); })},
    {"v_med3_f16", half_ternary([](float a, float b, float c) { return median(a, b, c); })},
    {"v_fma_f16", multiply_add<true>(Fused{})},
    {"v_pk_fmac_f16", packed_fmac},
    {"v_mad_f16", multiply_add<true>(Unfused{})},
    {"v_mad_legacy_f16", multiply_add<false>(Unfused{})},
    {"v_mac_f16", multiply_add<false>(Unfused{})},
    {"v_madmk_f16", multiply_add<false>(Unfused{})},
    {"v_madak_f16", multiply_add<false>(Unfused{})},
    {"v_fma_legacy_f16", multiply_add<false>(Fused{})},
    {"v_div_fixup_f16",
     each_lane_keeping_high([](Half a, Half b, Half c) { return div_fixup(a, b, c); })},
    {"v_div_fixup_legacy_f16",
     each_lane([](Half a, Half b, Half c) { return div_fixup(a, b, c); })},
    {"v_rcp_f16", half_unary([](float a) { return 1.0F / a; })},
    {"v_sqrt_f16", half_unary([](float a) { return __builtin_sqrtf(a); })},
    {"v_rsq_f16", half_unary([](float a) { return 1.0F / __builtin_sqrtf(a); })},
    {"v_log_f16", half_unary([](float a) { return std::log2(a); })},
    // Past 2^100 there is nothing but an overflow, which must not become an infinity of f32.
    {"v_exp_f16",
     half_unary([](float a) { return std::exp2(a > 100 && std::isfinite(a) ? 100.0F : a); })},
    {"v_sin_f16", half_unary([](float a) {
       return static_cast<float>(std::sin(6.28318530717958647693 * static_cast<double>(a)));
     })},
    {"v_cos_f16", half_unary([](float a) {
       return static_cast<float>(std::cos(6.28318530717958647693 * static_cast<double>(a)));
     })},
    {"v_floor_f16", half_unary([](float a) { return __builtin_floorf(a); })},
    {"v_ceil_f16", half_unary([](float a) { return __builtin_ceilf(a); })},
    {"v_trunc_f16", half_unary([](float a) { return __builtin_truncf(a); })},
    {"v_rndne_f16", half_unary([](float a) { return __builtin_nearbyintf(a); })},
    {"v_fract_f16", half_unary([](float a) {
       const float f = a - __builtin_floorf(a);
       return f > 0.99951171875F ? 0.99951171875F : f;
     })},
    {"v_frexp_mant_f16", half_unary([](float a) {
       int exponent = 0;
       return std::isfinite(a) ? std::frexp(a, &exponent) : a;
     })},
    {"v_frexp_exp_i16_f16", each_lane([](Half a) -> i16 {
       const float value = to_float(a);
       return static_cast<i16>(value == 0 || !std::isfinite(value) ? 0 : std::ilogb(value) + 1);
     })},
    {"v_ldexp_f16", ldexp},
    {"v_cvt_f16_u16", from_u16},
    {"v_cvt_f16_i16", each_lane([](i16 a) { return to_half(static_cast<float>(a)); })},
    {"v_cvt_u16_f16", to_short<u16>()},
    {"v_cvt_i16_f16", to_short<i16>()},
    {"v_pack_b32_f16",
     each_lane([](Half a, Half b) -> u32 { return a.bits | static_cast<u32>(b.bits) << 16; })},
};

}  // namespace

Entries MLA_GFX_PATH::half_entries() {
  return entries;
}

}  // namespace mla::gfx

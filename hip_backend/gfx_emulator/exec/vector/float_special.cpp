// Transcendental f32 operations, and the steps of division. Assumption SPECIAL_DENORMALS.
#include <algorithm>
#include <limits>

#include "hip_backend/gfx_emulator/exec/float-inl.hpp"

namespace mla::gfx {
namespace {

// log2 of a normal f32: m in [sqrt(1/2), sqrt(2)), then the series of atanh((m - 1) / (m + 1)).
inline float log2_of(float source) {
  const float a = flushed(source);
  const u32 bits = bits_of(a);
  const u32 shifted = bits - 0x3f3504f3U;
  const i32 exponent = static_cast<i32>(shifted) >> 23;
  const double m = float_of(bits - (static_cast<u32>(exponent) << 23));
  const double t = (m - 1) / (m + 1), q = t * t;
  double sum = 1.0 / 15;
  sum = sum * q + 1.0 / 13;
  sum = sum * q + 1.0 / 11;
  sum = sum * q + 1.0 / 9;
  sum = sum * q + 1.0 / 7;
  sum = sum * q + 1.0 / 5;
  sum = sum * q + 1.0 / 3;
  sum = sum * q + 1;
  const auto value = static_cast<float>(exponent + 2.88539008177792681472 * t * sum);
  const float zero = a == 0 ? float_of(0xff800000) : float_of(0x7fc00000);
  const float large = bits == 0x7f800000 || is_nan(a) ? a + a : value;
  return a > 0 || is_nan(a) ? large : zero;
}

inline float sin_of(float turns) {
  return static_cast<float>(
      std::sin((turns - std::floor(static_cast<double>(turns))) * 6.28318530717958647693));
}
inline float cos_of(float turns) {
  return static_cast<float>(
      std::cos((turns - std::floor(static_cast<double>(turns))) * 6.28318530717958647693));
}

// Runs in f64 without flushing, whatever the mode.
template <class F>
constexpr Handler precise(F) {
  return [](Wave& w, const Inst& i) {
    keep_denormals(w);
    run_lanes<F, false>(w, i);
  };
}

// The quotient of exact scaling, as the manual describes v_div_fixup.
template <class T>
T div_fixup(T quotient, T denominator, T numerator) {
  const bool negative = std::signbit(denominator) != std::signbit(numerator);
  const T sign = negative ? T{-1} : T{1};
  if (std::isnan(numerator)) return numerator + numerator;
  if (std::isnan(denominator)) return denominator + denominator;
  if ((numerator == 0 && denominator == 0) || (std::isinf(numerator) && std::isinf(denominator))) {
    return std::numeric_limits<T>::quiet_NaN();
  }
  if (denominator == 0 || std::isinf(numerator)) return sign * std::numeric_limits<T>::infinity();
  if (numerator == 0 || std::isinf(denominator)) return sign * T{0};
  // Assumption DIV_FIXUP_RANGE: too small for every number, or the steps before met infinities.
  const int apart = std::ilogb(numerator) - std::ilogb(denominator);
  if (apart < (sizeof(T) == 4 ? -150 : -1075)) return sign * T{0};
  if (std::isnan(quotient)) return sign * std::numeric_limits<T>::infinity();
  return std::copysign(quotient, sign);
}

// v_div_scale: which source is scaled, and whether the result of v_div_fmas needs it (VCC).
template <class T>
T div_scale(T value, T denominator, T numerator, bool& needed) {
  constexpr int large = sizeof(T) == 4 ? 96 : 768, tiny = sizeof(T) == 4 ? 23 : 53;
  constexpr int by = sizeof(T) == 4 ? 64 : 128;
  // Exponents are those of the encoding: all denormals have the one below the smallest number's.
  static constexpr int lowest = std::numeric_limits<T>::min_exponent - 2;
  needed = false;
  if (numerator == 0 || denominator == 0) return std::numeric_limits<T>::quiet_NaN();
  const auto exponent = [](T x) { return std::isfinite(x) ? std::max(std::ilogb(x), lowest) : 0; };
  const auto denormal = [](T x) { return std::fpclassify(x) == FP_SUBNORMAL; };
  const bool for_denominator = std::memcmp(&value, &denominator, sizeof(T)) == 0;
  if (exponent(numerator) - exponent(denominator) >= large) {
    needed = true;
    return for_denominator ? std::ldexp(value, by) : value;
  }
  if (denormal(denominator)) return std::ldexp(value, by);
  const bool inverse_tiny = denormal(T{1} / denominator),
             quotient_tiny = denormal(numerator / denominator);
  if (inverse_tiny && quotient_tiny) {  // assumption DIV_SCALE_DOWN
    needed = true;
    return for_denominator ? std::ldexp(value, -by) : value;
  }
  if (inverse_tiny) return std::ldexp(value, -by);
  if (quotient_tiny) {
    needed = true;
    return for_denominator ? value : std::ldexp(value, by);
  }
  if (std::isfinite(numerator) && exponent(numerator) <= lowest + tiny)
    return std::ldexp(value, by);
  return value;
}

template <class T>
void run_div_scale(Wave& w, const Inst& i) {
  keep_denormals(w);
  const Source<T> value(w, i, 0), denominator(w, i, 1), numerator(w, i, 2);
  u64 flags = 0;
  T out[lanes];
  for (unsigned l = 0; l < lanes; ++l) {
    bool needed = false;
    out[l] = div_scale<T>(value[l], denominator[l], numerator[l], needed);
    flags |= u64{needed} << l;
  }
  store_lanes<T, false>(w, i, [&](unsigned l) { return out[l]; });
  write_mask(w, i, flags);
}

// What fma() lost: exact a * b + c minus `value`, of which only the sign is right. Scaled up first,
// so that no part of it is below the smallest number (the result is denormal: nothing overflows).
inline double fma_rest(float a, float b, float c, float value) {
  const double product = static_cast<double>(a) * b, addend = c;  // exact
  const double sum = product + addend, part = sum - product;
  const double lost = (product - (sum - part)) + (addend - part);
  return (sum - value) + lost;
}
inline double fma_rest(double a, double b, double c, double value) {
  a *= 0x1p256, c *= 0x1p256, value *= 0x1p256;
  const double product = a * b, low = std::fma(a, b, -product);
  const double sum = low + c, c_part = sum - low;
  const double rest = (low - (sum - c_part)) + (c - c_part);
  const double all = product + sum, sum_part = all - product;
  const double lost = (product - (all - sum_part)) + (sum - sum_part);
  return ((all - value) + lost) + rest;
}

// a * b + c scaled down, rounded once. Where the sum, rounded to all its bits, lies half way
// between two denormals, what it has lost says which of them is nearer.
template <class T>
T fma_scaled_down(T a, T b, T c, int by) {
  const T value = std::fma(a, b, c), scaled = std::ldexp(value, -by);
  constexpr T least = std::numeric_limits<T>::denorm_min();
  if (!(std::abs(scaled) <= std::numeric_limits<T>::min())) return scaled;
  const T back = std::ldexp(scaled, by), half = std::ldexp(least, by - 1);
  if (std::abs(value - back) != half) return scaled;
  const double rest = fma_rest(a, b, c, value);
  if (rest == 0) return scaled;
  const bool above = rest > 0, rounded_up = back > value;
  return above == rounded_up ? scaled : above ? scaled + least : scaled - least;
}

template <class T>
void run_div_fmas(Wave& w, const Inst& i) {
  keep_denormals(w);
  constexpr int by = sizeof(T) == 4 ? 64 : 128;
  const Source<T> a(w, i, 0), b(w, i, 1), c(w, i, 2);
  const u64 flags = w.pair(code::vcc);
  store_lanes<T, false>(w, i, [&](unsigned l) {
    if ((flags >> l & 1) == 0) return std::fma(a[l], b[l], c[l]);
    if (std::ilogb(c[l]) > 0) return std::ldexp(std::fma(a[l], b[l], c[l]), by);
    return fma_scaled_down<T>(a[l], b[l], c[l], by);
  });
}

const Entry entries[] = {
    {"v_log_f32", precise([](float a) { return log2_of(a); })},
    {"v_log_legacy_f32", precise([](float a) { return log2_of(a); })},
    {"v_rcp_f32", precise([](float a) { return flushed(1.0F / flushed(a)); })},
    {"v_rcp_iflag_f32", precise([](float a) { return flushed(1.0F / flushed(a)); })},
    {"v_rsq_f32", precise([](float a) {
       return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(flushed(a))));
     })},
    {"v_sqrt_f32", precise([](float a) { return __builtin_sqrtf(flushed(a)); })},
    // To nearest, whatever MODE says.
    {"v_rndne_f32", precise([](float a) { return __builtin_nearbyintf(a); })},
    {"v_sin_f32", precise([](float a) { return sin_of(a); })},
    {"v_cos_f32", precise([](float a) { return cos_of(a); })},
    {"v_div_fixup_f32",
     precise([](float a, float b, float c) { return div_fixup<float>(a, b, c); })},
    {"v_div_fixup_f64",
     precise([](double a, double b, double c) { return div_fixup<double>(a, b, c); })},
    {"v_div_scale_f32", run_div_scale<float>},
    {"v_div_scale_f64", run_div_scale<double>},
    {"v_div_fmas_f32", run_div_fmas<float>},
    {"v_div_fmas_f64", run_div_fmas<double>},
};

}  // namespace

Entries MLA_GFX_PATH::float_special_entries() {
  return entries;
}

}  // namespace mla::gfx

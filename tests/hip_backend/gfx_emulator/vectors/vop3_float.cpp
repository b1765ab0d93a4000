// VOP3 only: floating point with up to three sources, and conversions of pairs.
#include "alu.hpp"
#include "families.hpp"
#include "reference.hpp"
#include "two_over_pi.hpp"

namespace gfx_test {
namespace {

using namespace reference;
using mla::gfx::Arch;

template <class T>
T middle(T a, T b, T c) {
  if (std::isnan(a) || std::isnan(b) || std::isnan(c)) return lesser(lesser(a, b), c);
  return greater(lesser(a, b), lesser(greater(a, b), c));
}
template <class T>
T least_or_nan(T a, T b, T c) {
  return std::isnan(a) || std::isnan(b) || std::isnan(c) ? std::numeric_limits<T>::quiet_NaN()
                                                         : lesser(lesser(a, b), c);
}
template <class T>
T most_or_nan(T a, T b, T c) {
  return -least_or_nan(-a, -b, -c);
}

std::vector<Alu> wide() {
  return {
      alu("v_fma_f32", [](float a, float b, float c) { return std::fma(a, b, c); }),
      alu("v_mul_legacy_f32", [](float a, float b) { return a == 0 || b == 0 ? 0.0F : a * b; }),
      alu("v_min3_f32", [](float a, float b, float c) { return lesser(lesser(a, b), c); }),
      alu("v_max3_f32", [](float a, float b, float c) { return greater(greater(a, b), c); }),
      alu("v_med3_f32", [](float a, float b, float c) { return middle(a, b, c); }),
      alu("v_minimum3_f32", [](float a, float b, float c) { return least_or_nan(a, b, c); }),
      alu("v_maximum3_f32", [](float a, float b, float c) { return most_or_nan(a, b, c); }),
      alu("v_ldexp_f32", [](float a, i32 b) { return std::ldexp(a, b); }),
      alu("v_add_f64", [](double a, double b) { return a + b; }),
      alu("v_mul_f64", [](double a, double b) { return a * b; }),
      alu("v_min_f64", [](double a, double b) { return lesser(a, b); }),
      alu("v_max_f64", [](double a, double b) { return greater(a, b); }),
      alu("v_fma_f64", [](double a, double b, double c) { return std::fma(a, b, c); }),
      alu("v_ldexp_f64", [](double a, i32 b) { return std::ldexp(a, b); }),
      alu("v_trig_preop_f64", [](double a, u32 b) { return trig_preop(a, b % 32); }),
  };
}

Half unfused(Half a, Half b, Half c) {
  return half_of(value_of(half_of(value_of(a) * value_of(b))) + value_of(c));
}

// What a division of its last two arguments is in the special cases, else the first.
template <class T>
T fixed_up(T quotient, T denominator, T numerator) {
  const T sign = std::signbit(denominator) == std::signbit(numerator) ? T{1} : T{-1};
  const T plain = numerator / denominator;
  if (std::isnan(plain)) return plain;
  if (denominator == 0 || std::isinf(numerator)) return sign * std::numeric_limits<T>::infinity();
  if (numerator == 0 || std::isinf(denominator)) return sign * T{0};
  // Assumption DIV_FIXUP_RANGE.
  if constexpr (sizeof(T) >= 4) {
    if (std::ilogb(numerator) - std::ilogb(denominator) < (sizeof(T) == 4 ? -150 : -1075)) {
      return sign * T{0};
    }
    if (std::isnan(quotient)) return sign * std::numeric_limits<T>::infinity();
  }
  return std::copysign(quotient, sign);
}
Half fixed_up_half(Half q, Half d, Half n) {
  const double numerator = value_of(n), denominator = value_of(d);
  const double special = numerator / denominator;
  const double sign = std::signbit(numerator) == std::signbit(denominator) ? 1 : -1;
  if (special == 0 || !std::isfinite(special)) return half_of(special);
  return half_of(std::copysign(value_of(q), sign));
}

std::vector<Alu> halves() {
  const AluOptions chosen = {.op_sel = true};
  const AluOptions kept = {.keeps_high = true, .op_sel = true};
  const auto order = [](auto f) {
    return
        [f](Half a, Half b, Half c) { return half_of(f(value_of(a), value_of(b), value_of(c))); };
  };
  return {
      alu("v_fma_f16", fused, kept),
      alu("v_mad_f16", unfused, kept),
      alu("v_mad_legacy_f16", unfused, {}),
      alu("v_fma_legacy_f16", fused, {}),
      alu("v_div_fixup_f16", fixed_up_half, kept),
      alu("v_div_fixup_legacy_f16", fixed_up_half, {}),
      alu("v_min3_f16", order([](double a, double b, double c) { return lesser(lesser(a, b), c); }),
          chosen),
      alu("v_max3_f16",
          order([](double a, double b, double c) { return greater(greater(a, b), c); }), chosen),
      alu("v_med3_f16", order([](double a, double b, double c) { return middle(a, b, c); }),
          chosen),
      alu("v_pack_b32_f16",
          [](Half a, Half b) {
            return static_cast<u32>(a.bits) + static_cast<u32>(b.bits) * 65536;
          },
          {.compare = Compare::two_f16, .op_sel = true}),
  };
}

// A pair of 16-bit results.
template <class F>
Alu pair(const char* name, F f, Compare compare) {
  return alu(name,
             [f](float a, float b) {
               return static_cast<u32>(f(static_cast<double>(a)) & 0xffff) |
                      static_cast<u32>(f(static_cast<double>(b)) & 0xffff) << 16;
             },
             {.compare = compare});
}

std::vector<Alu> conversions() {
  return {
      pair(
          "v_cvt_pkrtz_f16_f32",
          [](double a) -> u32 {
            return half_of(std::isfinite(a) ? truncated(a, f16_format) : a).bits;
          },
          Compare::two_f16),
      pair(
          "v_cvt_pk_f16_f32", [](double a) -> u32 { return half_of(a).bits; }, Compare::two_f16),
      pair("v_cvt_pk_bf16_f32", brain_of, Compare::two_bf16),
      // Assumption NORM_ROUNDING.
      pair(
          "v_cvt_pknorm_i16_f32",
          [](double a) {
            const double limited = std::isnan(a) ? 0 : std::clamp(a, -1.0, 1.0);
            return static_cast<u32>(static_cast<i32>(std::nearbyint(limited * 32767)));
          },
          Compare::bits),
      pair(
          "v_cvt_pknorm_u16_f32",
          [](double a) {
            const double limited = std::isnan(a) ? 0 : std::clamp(a, 0.0, 1.0);
            return static_cast<u32>(std::nearbyint(limited * 65535));
          },
          Compare::bits),
      alu("v_cvt_pk_u8_f32",
          [](float a, u32 byte, u32 old) {
            const double limited =
                std::isnan(a) ? 0 : std::clamp(static_cast<double>(a), 0.0, 255.0);
            const u32 value = static_cast<u32>(std::nearbyint(limited)), shift = 8 * (byte % 4);
            return (old & ~(0xffU << shift)) + (value << shift);
          }),
      alu("v_div_fixup_f32", [](float q, float d, float n) { return fixed_up(q, d, n); }),
      alu("v_div_fixup_f64", [](double q, double d, double n) { return fixed_up(q, d, n); }),
  };
}

std::vector<Alu> byte_conversions(Arch arch) {
  const bool fnuz = arch == Arch::gfx942;
  const auto make = [](const char* name, const Byte& format) {
    return alu(name,
               [format](float a, float b) {
                 return static_cast<u16>(byte_of(static_cast<double>(a), format, false) |
                                         byte_of(static_cast<double>(b), format, false) << 8);
               },
               {.keeps_high = true, .op_sel = true});
  };
  return {make("v_cvt_pk_fp8_f32", fnuz ? fp8_fnuz : fp8_ocp),
          make("v_cvt_pk_bf8_f32", fnuz ? bf8_fnuz : bf8_ocp)};
}

}  // namespace

Vectors vop3_float_vectors(Arch arch) {
  Vectors out;
  for (const auto& table : {wide(), halves(), conversions(), byte_conversions(arch)}) {
    for (const Alu& alu : table) add_vectors(out, arch, alu);
  }
  for (Vector& vector : scaled_vectors(arch)) out.push_back(std::move(vector));
  for (Vector& vector : scaled_wide_vectors(arch)) out.push_back(std::move(vector));
  return out;
}

}  // namespace gfx_test

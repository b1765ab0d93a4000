// VOP1: moves, conversions, rounding, bits, and what is approximate in hardware.
#include "alu.hpp"
#include "families.hpp"
#include "reference.hpp"

namespace gfx_test {
namespace {

using namespace reference;
using mla::gfx::Arch;

constexpr double turn = 6.283185307179586476925;

// Turns: the hardware is accurate for -256 to 256.
std::vector<u64> turns_f32() {
  std::vector<u64> out;
  for (const float x : {0.0F, 0.125F, -0.25F, 0.375F, 1.0F, -2.5F, 100.0625F, -255.9F, 0.0001F}) {
    out.push_back(bits_of(x));
  }
  return out;
}
std::vector<u64> turns_f16() {
  std::vector<u64> out;
  for (const double x : {0.0, 0.0625, -0.125, 0.28125, -1.4375, 3.53125, 17.1}) {
    out.push_back(half_of(x).bits);
  }
  return out;
}

// A number below 1 even where the fraction rounds up to it.
template <class T>
T fraction_of(T value) {
  const T below_one = std::nextafter(T{1}, T{0});
  const T fraction = value - std::floor(value);
  return fraction >= 1 ? below_one : fraction;
}

template <class T>
i32 exponent_of(T value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  int exponent = 0;
  static_cast<void>(std::frexp(value, &exponent));
  return exponent;
}
template <class T>
T significand_of(T value) {
  int exponent = 0;
  return std::isfinite(value) ? std::frexp(value, &exponent) : value;
}

std::vector<Alu> moves() {
  return {
      alu("v_mov_b32", [](u32 a) { return a; }),
      alu("v_mov_b64", [](u64 a) { return a; }),
      alu("v_not_b32", [](u32 a) { return 0xffffffffU - a; }),
      alu("v_bfrev_b32", [](u32 a) { return reversed(a); }),
      alu("v_ffbh_u32", [](u32 a) { return a == 0 ? -1 : 31 - highest_bit(a); }),
      alu("v_ffbl_b32", [](u32 a) { return lowest_bit(a); }),
      alu("v_ffbh_i32", [](u32 a) { return alike_from_top(a); }),
      alu("v_sat_pk_u8_i16",
          [](u32 a) {
            const i32 low = std::clamp(sign_extended(a, 16), 0, 255);
            const i32 high = std::clamp(sign_extended(a >> 16, 16), 0, 255);
            return static_cast<u32>(low + 256 * high);
          }),
      alu("v_prng_b32", [](u32 a) { return (a * 2) ^ (a >= 0x80000000 ? 197 : 0); }),
  };
}

std::vector<Alu> conversions() {
  return {
      alu("v_cvt_i32_f64", [](double a) { return limited<i32>(a); }),
      alu("v_cvt_u32_f64", [](double a) { return limited<u32>(a); }),
      alu("v_cvt_f64_i32", [](i32 a) { return static_cast<double>(a); }),
      alu("v_cvt_f64_u32", [](u32 a) { return static_cast<double>(a); }),
      alu("v_cvt_f32_i32", [](i32 a) { return static_cast<float>(static_cast<double>(a)); }),
      alu("v_cvt_f32_u32", [](u32 a) { return static_cast<float>(static_cast<double>(a)); }),
      alu("v_cvt_i32_f32", [](float a) { return limited<i32>(static_cast<double>(a)); }),
      alu("v_cvt_u32_f32", [](float a) { return limited<u32>(static_cast<double>(a)); }),
      alu("v_cvt_rpi_i32_f32",
          [](float a) { return limited<i32>(static_cast<double>(std::floor(a + 0.5F))); }),
      alu("v_cvt_flr_i32_f32",
          [](float a) { return limited<i32>(static_cast<double>(std::floor(a))); }),
      alu("v_cvt_f16_f32", [](float a) { return half_of(static_cast<double>(a)); }),
      alu("v_cvt_f32_f16", [](Half a) { return static_cast<float>(value_of(a)); }),
      alu("v_cvt_f32_f64", [](double a) { return static_cast<float>(a); }),
      alu("v_cvt_f64_f32", [](float a) { return static_cast<double>(a); }),
      alu("v_cvt_f32_bf16", [](u16 a) { return static_cast<float>(brain_value(a)); }),
      alu("v_cvt_f16_u16", [](u16 a) { return half_of(a); }),
      alu("v_cvt_f16_i16", [](i16 a) { return half_of(a); }),
      alu("v_cvt_u16_f16", [](Half a) { return limited<u16>(value_of(a)); }),
      alu("v_cvt_i16_f16", [](Half a) { return limited<i16>(value_of(a)); }),
      alu("v_cvt_off_f32_i4", [](u32 a) { return static_cast<float>(sign_extended(a, 4)) / 16; }),
      alu("v_cvt_f32_ubyte0", [](u32 a) { return static_cast<float>(a % 256); }),
      alu("v_cvt_f32_ubyte1", [](u32 a) { return static_cast<float>(a / 256 % 256); }),
      alu("v_cvt_f32_ubyte2", [](u32 a) { return static_cast<float>(a / 65536 % 256); }),
      alu("v_cvt_f32_ubyte3", [](u32 a) { return static_cast<float>(a / 16777216); }),
  };
}

std::vector<Alu> byte_conversions(Arch arch) {
  const bool fnuz = arch == Arch::gfx942;
  const Byte four = fnuz ? fp8_fnuz : fp8_ocp, five = fnuz ? bf8_fnuz : bf8_ocp;
  const auto single = [](const Byte& format) {
    return [format](u32 a) { return static_cast<float>(byte_value(a & 0xff, format)); };
  };
  const auto pair = [](const Byte& format) {
    return [format](u32 a) {
      return u64{bits_of(static_cast<float>(byte_value(a & 0xff, format)))} |
             u64{bits_of(static_cast<float>(byte_value(a >> 8 & 0xff, format)))} << 32;
    };
  };
  std::vector<u64> every_byte;
  for (u64 byte = 0; byte < 256; ++byte) every_byte.push_back(byte | (byte * 7 + 3) % 256 << 8);
  const AluOptions one = {.result_modifiers = false, .only = every_byte};
  const AluOptions two = {.compare = Compare::two_f32, .only = every_byte};
  return {alu("v_cvt_f32_fp8", single(four), one), alu("v_cvt_f32_bf8", single(five), one),
          alu("v_cvt_pk_f32_fp8", pair(four), two), alu("v_cvt_pk_f32_bf8", pair(five), two)};
}

template <class F>
Alu by_value(const char* name, F f) {
  return alu(name, [f](Half a) { return half_of(f(value_of(a))); });
}

std::vector<Alu> rounding() {
  return {
      alu("v_trunc_f32", [](float a) { return std::trunc(a); }),
      alu("v_ceil_f32", [](float a) { return std::ceil(a); }),
      alu("v_floor_f32", [](float a) { return std::floor(a); }),
      alu("v_rndne_f32", [](float a) { return std::nearbyint(a); }),
      alu("v_fract_f32", [](float a) { return fraction_of(a); }),
      alu("v_frexp_exp_i32_f32", [](float a) { return exponent_of(a); }),
      alu("v_frexp_mant_f32", [](float a) { return significand_of(a); }),
      alu("v_trunc_f64", [](double a) { return std::trunc(a); }),
      alu("v_ceil_f64", [](double a) { return std::ceil(a); }),
      alu("v_floor_f64", [](double a) { return std::floor(a); }),
      alu("v_rndne_f64", [](double a) { return std::nearbyint(a); }),
      alu("v_fract_f64", [](double a) { return fraction_of(a); }),
      alu("v_frexp_exp_i32_f64", [](double a) { return exponent_of(a); }),
      alu("v_frexp_mant_f64", [](double a) { return significand_of(a); }),
      by_value("v_trunc_f16", [](double a) { return std::trunc(a); }),
      by_value("v_ceil_f16", [](double a) { return std::ceil(a); }),
      by_value("v_floor_f16", [](double a) { return std::floor(a); }),
      by_value("v_rndne_f16", [](double a) { return std::nearbyint(a); }),
      by_value("v_fract_f16",
               [](double a) {
                 return a - std::floor(a) > 2047.0 / 2048 ? 2047.0 / 2048 : a - std::floor(a);
               }),
      by_value("v_frexp_mant_f16", [](double a) { return significand_of(a); }),
      alu("v_frexp_exp_i16_f16", [](Half a) { return static_cast<i16>(exponent_of(value_of(a))); }),
  };
}

template <class F>
Alu special(const char* name, F f) {
  return alu(name, [f](float a) { return flushed(f(static_cast<double>(flushed(a)))); },
             {.compare = Compare::f32_ulp});
}
template <class F>
Alu special_f16(const char* name, F f) {
  return alu(name, [f](Half a) { return half_of(f(value_of(a))); }, {.compare = Compare::f16_ulp});
}

std::vector<Alu> approximate() {
  const AluOptions ulp = {.compare = Compare::f64_ulp};
  std::vector<Alu> out = {
      special("v_rcp_f32", [](double a) { return 1 / a; }),
      special("v_rcp_iflag_f32", [](double a) { return 1 / a; }),
      special("v_rsq_f32", [](double a) { return 1 / std::sqrt(a); }),
      special("v_sqrt_f32", [](double a) { return std::sqrt(a); }),
      special_f16("v_rcp_f16", [](double a) { return 1 / a; }),
      special_f16("v_rsq_f16", [](double a) { return 1 / std::sqrt(a); }),
      special_f16("v_sqrt_f16", [](double a) { return std::sqrt(a); }),
      special_f16("v_log_f16", [](double a) { return std::log2(a); }),
      special_f16("v_exp_f16", [](double a) { return std::exp2(a); }),
      alu(
          "v_rcp_f64", [](double a) { return static_cast<double>(1.0L / a); }, ulp),
      alu(
          "v_sqrt_f64", [](double a) { return static_cast<double>(std::sqrt(1.0L * a)); }, ulp),
      alu(
          "v_rsq_f64", [](double a) { return static_cast<double>(1 / std::sqrt(1.0L * a)); }, ulp),
      alu("v_sin_f32",
          [](float a) { return static_cast<float>(std::sin(turn * static_cast<double>(a))); },
          {.compare = Compare::f32_close, .only = turns_f32()}),
      alu("v_cos_f32",
          [](float a) { return static_cast<float>(std::cos(turn * static_cast<double>(a))); },
          {.compare = Compare::f32_close, .only = turns_f32()}),
      alu("v_sin_f16", [](Half a) { return half_of(std::sin(turn * value_of(a))); },
          {.compare = Compare::f16_close, .only = turns_f16()}),
      alu("v_cos_f16", [](Half a) { return half_of(std::cos(turn * value_of(a))); },
          {.compare = Compare::f16_close, .only = turns_f16()}),
  };
  for (const char* const name : {"v_exp_f32", "v_exp_legacy_f32"}) {
    out.push_back(special(name, [](double a) { return std::exp2(a); }));
  }
  for (const char* const name : {"v_log_f32", "v_log_legacy_f32"}) {
    out.push_back(special(name, [](double a) { return std::log2(a); }));
  }
  return out;
}

}  // namespace

Vectors vop1_vectors(Arch arch) {
  Vectors out;
  for (const auto& table :
       {moves(), conversions(), byte_conversions(arch), rounding(), approximate()}) {
    for (const Alu& alu : table) add_vectors(out, arch, alu);
  }
  return out;
}

}  // namespace gfx_test

// VOP2: arithmetic with two sources, or with the destination as the third.
#include "alu.hpp"
#include "families.hpp"
#include "reference.hpp"

namespace gfx_test {
namespace {

using namespace reference;
using mla::gfx::Arch;

std::vector<Alu> reals() {
  return {
      alu("v_add_f32", [](float a, float b) { return a + b; }),
      alu("v_sub_f32", [](float a, float b) { return a - b; }),
      alu("v_subrev_f32", [](float a, float b) { return b - a; }),
      alu("v_mul_f32", [](float a, float b) { return a * b; }),
      alu("v_min_f32", [](float a, float b) { return lesser(a, b); }),
      alu("v_max_f32", [](float a, float b) { return greater(a, b); }),
      alu("v_fmac_f32", [](float a, float b, float c) { return std::fma(a, b, c); }),
      alu("v_fmamk_f32", [](float a, float b, float c) { return std::fma(a, b, c); }),
      alu("v_fmaak_f32", [](float a, float b, float c) { return std::fma(a, b, c); }),
      alu("v_fmac_f64", [](double a, double b, double c) { return std::fma(a, b, c); }),
  };
}

template <class F>
Alu by_values(const char* name, F f) {
  return alu(name, [f](Half a, Half b) { return half_of(f(value_of(a), value_of(b))); });
}

Half rounded_twice(Half a, Half b, Half c) {
  return half_of(value_of(half_of(value_of(a) * value_of(b))) + value_of(c));
}

std::vector<Alu> halves() {
  return {
      by_values("v_add_f16", [](double a, double b) { return a + b; }),
      by_values("v_sub_f16", [](double a, double b) { return a - b; }),
      by_values("v_subrev_f16", [](double a, double b) { return b - a; }),
      by_values("v_mul_f16", [](double a, double b) { return a * b; }),
      by_values("v_min_f16", [](double a, double b) { return lesser(a, b); }),
      by_values("v_max_f16", [](double a, double b) { return greater(a, b); }),
      alu("v_mac_f16", rounded_twice),
      alu("v_madmk_f16", rounded_twice),
      alu("v_madak_f16", rounded_twice),
      alu("v_ldexp_f16", [](Half a, i16 b) { return half_of(std::ldexp(value_of(a), b)); }),
  };
}

// The same modulo 2^bits, or limited to what the type holds.
template <class T, class F>
Alu wrapping(const char* name, F f) {
  return alu(name, [f](T a, T b) { return static_cast<T>(f(i64{a}, i64{b})); },
             {.clamped = by_bits([f](T a, T b) { return limited_whole<T>(f(i64{a}, i64{b})); })});
}

template <class R, class F>
Alu product_of_24(const char* name, F field) {
  return alu(name, [field](u32 a, u32 b) { return static_cast<R>(field(a) * field(b)); },
             {.clamped = by_bits(
                  [field](u32 a, u32 b) { return limited_whole<R>(field(a) * field(b)); })});
}

std::vector<Alu> integers() {
  const auto add = [](i64 a, i64 b) { return a + b; };
  const auto sub = [](i64 a, i64 b) { return a - b; };
  const auto subrev = [](i64 a, i64 b) { return b - a; };
  return {
      wrapping<u32>("v_add_u32", add),
      wrapping<u32>("v_sub_u32", sub),
      wrapping<u32>("v_subrev_u32", subrev),
      wrapping<u16>("v_add_u16", add),
      wrapping<u16>("v_sub_u16", sub),
      wrapping<u16>("v_subrev_u16", subrev),
      product_of_24<i32>("v_mul_i32_i24", [](u32 a) { return i64{sign_extended(a, 24)}; }),
      alu("v_mul_hi_i32_i24",
          [](u32 a, u32 b) {
            return static_cast<i32>(std::floor(static_cast<double>(sign_extended(a, 24)) *
                                               sign_extended(b, 24) / 0x1p32));
          }),
      product_of_24<u32>("v_mul_u32_u24", [](u32 a) { return i64{a % 0x1000000}; }),
      alu("v_mul_hi_u32_u24",
          [](u32 a, u32 b) {
            return static_cast<u32>(u64{a % 0x1000000} * (b % 0x1000000) / 0x100000000);
          }),
      alu("v_min_i32", [](i32 a, i32 b) { return a < b ? a : b; }),
      alu("v_max_i32", [](i32 a, i32 b) { return a < b ? b : a; }),
      alu("v_min_u32", [](u32 a, u32 b) { return a < b ? a : b; }),
      alu("v_max_u32", [](u32 a, u32 b) { return a < b ? b : a; }),
      alu("v_min_i16", [](i16 a, i16 b) { return a < b ? a : b; }),
      alu("v_max_i16", [](i16 a, i16 b) { return a < b ? b : a; }),
      alu("v_min_u16", [](u16 a, u16 b) { return a < b ? a : b; }),
      alu("v_max_u16", [](u16 a, u16 b) { return a < b ? b : a; }),
      alu("v_mul_lo_u16", [](u16 a, u16 b) { return static_cast<u16>(i64{a} * b); }),
      alu("v_and_b32", [](u32 a, u32 b) { return a & b; }),
      alu("v_or_b32", [](u32 a, u32 b) { return a + b - (a & b); }),
      alu("v_xor_b32", [](u32 a, u32 b) { return (a | b) - (a & b); }),
      alu("v_xnor_b32", [](u32 a, u32 b) { return ~((a | b) - (a & b)); }),
  };
}

// Shifts as products and quotients with a power of two.
std::vector<Alu> shifts() {
  return {
      alu("v_lshlrev_b32", [](u32 a, u32 b) { return static_cast<u32>(b * (u64{1} << a % 32)); }),
      alu("v_lshrrev_b32", [](u32 a, u32 b) { return static_cast<u32>(b / (u64{1} << a % 32)); }),
      alu("v_ashrrev_i32",
          [](u32 a, i32 b) { return static_cast<i32>(std::floor(std::ldexp(b, -int(a % 32)))); }),
      alu("v_lshlrev_b16", [](u16 a, u16 b) { return static_cast<u16>(b * (1 << a % 16)); }),
      alu("v_lshrrev_b16", [](u16 a, u16 b) { return static_cast<u16>(b / (1 << a % 16)); }),
      alu("v_ashrrev_i16",
          [](u16 a, i16 b) { return static_cast<i16>(std::floor(std::ldexp(b, -int(a % 16)))); }),
  };
}

}  // namespace

Vectors vop2_vectors(Arch arch) {
  Vectors out;
  for (const auto& table : {reals(), halves(), integers(), shifts()}) {
    for (const Alu& alu : table) add_vectors(out, arch, alu);
  }
  return out;
}

}  // namespace gfx_test

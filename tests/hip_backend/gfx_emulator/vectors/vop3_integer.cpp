// VOP3 only: integers of 8, 16, 32 and 64 bits.
#include "alu.hpp"
#include "families.hpp"
#include "reference.hpp"

namespace gfx_test {
namespace {

using namespace reference;
using mla::gfx::Arch;

const AluOptions halves = {.op_sel = true};
const AluOptions halves_kept = {.keeps_high = true, .op_sel = true};

template <class T>
T middle(T a, T b, T c) {
  T all[3] = {a, b, c};
  std::sort(all, all + 3);
  return all[1];
}

template <class T>
void add_orders(std::vector<Alu>& out, const std::string& suffix) {
  const AluOptions options = {.op_sel = sizeof(T) == 2};
  out.push_back(
      alu("v_min3_" + suffix, [](T a, T b, T c) { return std::min({a, b, c}); }, options));
  out.push_back(
      alu("v_max3_" + suffix, [](T a, T b, T c) { return std::max({a, b, c}); }, options));
  out.push_back(alu("v_med3_" + suffix, [](T a, T b, T c) { return middle(a, b, c); }, options));
}

std::vector<Alu> orders() {
  std::vector<Alu> out;
  add_orders<i32>(out, "i32");
  add_orders<u32>(out, "u32");
  add_orders<i16>(out, "i16");
  add_orders<u16>(out, "u16");
  return out;
}

template <class T, class F>
Alu saturating(const char* name, F f, AluOptions options) {
  options.clamped = by_bits([f](T a, T b) { return limited_whole<T>(f(i64{a}, i64{b})); });
  return alu(name, [f](T a, T b) { return static_cast<T>(f(i64{a}, i64{b})); }, options);
}

std::vector<Alu> sums() {
  return {
      saturating<i32>("v_add_i32", [](i64 a, i64 b) { return a + b; }, {}),
      saturating<i32>("v_sub_i32", [](i64 a, i64 b) { return a - b; }, {}),
      saturating<i16>(
          "v_add_i16", [](i64 a, i64 b) { return a + b; }, halves),
      saturating<i16>(
          "v_sub_i16", [](i64 a, i64 b) { return a - b; }, halves),
      alu("v_add3_u32", [](u32 a, u32 b, u32 c) { return static_cast<u32>(u64{a} + b + c); }),
      alu("v_xad_u32", [](u32 a, u32 b, u32 c) { return static_cast<u32>(u64{a ^ b} + c); }),
      alu("v_lshl_add_u32",
          [](u32 a, u32 b, u32 c) { return static_cast<u32>(a * (u64{1} << b % 32) + c); }),
      alu("v_add_lshl_u32",
          [](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} + b) * (u64{1} << c % 32)); }),
      alu("v_lshl_add_u64", [](u64 a, u32 b, u64 c) { return a * (u64{1} << b % 8) + c; }),
      alu("v_bcnt_u32_b32", [](u32 a, u32 b) { return static_cast<u32>(ones(a)) + b; }),
  };
}

// An exact value: its low bits, or what the result type holds of it.
template <class R, class F>
Alu limiting(const char* name, F f, AluOptions options) {
  using Wide = std::function<i64(u64, u64, u64)>;
  const std::vector<Type> types = SignatureOf<F>::types();
  const Wide exact = [f](u64 a, u64 b, u64 c) {
    using Arguments = typename SignatureOf<F>::Arguments;
    return f(from_bits<std::tuple_element_t<0, Arguments>>(a),
             from_bits<std::tuple_element_t<1, Arguments>>(b),
             from_bits<std::tuple_element_t<2, Arguments>>(c));
  };
  options.clamped = [exact](u64 a, u64 b, u64 c) {
    return to_bits(limited_whole<R>(exact(a, b, c)));
  };
  return {name, types, type_of<R>(),
          [exact](u64 a, u64 b, u64 c) { return to_bits(static_cast<R>(exact(a, b, c))); },
          std::move(options)};
}

std::vector<Alu> products() {
  return {
      alu("v_mul_lo_u32", [](u32 a, u32 b) { return static_cast<u32>(u64{a} * b); }),
      alu("v_mul_hi_u32", [](u32 a, u32 b) { return static_cast<u32>(u64{a} * b / 0x100000000); }),
      alu("v_mul_hi_i32",
          [](i32 a, i32 b) {
            return static_cast<i32>(std::floor(static_cast<long double>(i64{a} * b) / 0x1p32L));
          }),
      limiting<i32>(
          "v_mad_i32_i24",
          [](u32 a, u32 b, i32 c) { return i64{sign_extended(a, 24)} * sign_extended(b, 24) + c; },
          {}),
      limiting<u32>("v_mad_u32_u24",
                    [](u32 a, u32 b, u32 c) {
                      return static_cast<i64>(u64{a % 0x1000000} * (b % 0x1000000) + c);
                    },
                    {}),
      limiting<u16>(
          "v_mad_u16", [](u16 a, u16 b, u16 c) { return i64{a} * b + c; }, halves_kept),
      limiting<i16>(
          "v_mad_i16", [](i16 a, i16 b, i16 c) { return i64{a} * b + c; }, halves_kept),
      limiting<u16>("v_mad_legacy_u16", [](u16 a, u16 b, u16 c) { return i64{a} * b + c; }, {}),
      limiting<i16>("v_mad_legacy_i16", [](i16 a, i16 b, i16 c) { return i64{a} * b + c; }, {}),
      limiting<u32>(
          "v_mad_u32_u16", [](u16 a, u16 b, u32 c) { return i64{a} * b + c; }, halves),
      limiting<i32>(
          "v_mad_i32_i16", [](i16 a, i16 b, i32 c) { return i64{a} * b + c; }, halves),
  };
}

u32 field(u32 value, u32 offset, u32 width, bool is_signed) {
  u32 out = 0;
  for (u32 k = 0; k < 32 && width % 32 != 0; ++k) {
    const u32 at = offset % 32 + std::min(k, width % 32 - 1);
    const bool above = k >= width % 32;
    const u32 bit = at < 32 ? value >> at & 1 : is_signed ? value >> 31 : 0;
    if (bit != 0 && (!above || is_signed)) out |= 1U << k;
  }
  return out;
}

// Bytes of {a, b}, b the lower; 8 to 11 spread the signs of the odd bytes, 12 is zero.
u32 permuted(u32 a, u32 b, u32 selectors) {
  u32 out = 0;
  for (u32 k = 0; k < 4; ++k) {
    const u32 s = selectors >> 8 * k & 0xff;
    const u64 all = u64{a} << 32 | b;
    u64 byte = 0xff;
    if (s < 8) byte = all >> 8 * s & 0xff;
    if (s >= 8 && s < 12) byte = (all >> (16 * (s - 8) + 15) & 1) * 0xff;
    if (s == 12) byte = 0;
    out |= static_cast<u32>(byte) << 8 * k;
  }
  return out;
}

std::vector<Alu> bits() {
  const AluOptions selectors = {.only = {0x03020100, 0x07060504, 0x00040206, 0x0c0d0b0a, 0x08090c0f,
                                         0xff800107, 0x05010400, 0x81fe7f02}};
  const auto select = [](u32 a, u32 b, u32 c) { return permuted(a, b, c); };
  return {
      alu("v_bfe_u32", [](u32 a, u32 b, u32 c) { return field(a, b, c, false); }),
      alu("v_bfe_i32", [](u32 a, u32 b, u32 c) { return field(a, b, c, true); }),
      alu("v_bfm_b32",
          [](u32 a, u32 b) {
            return static_cast<u32>(((u64{1} << a % 32) - 1) * (u64{1} << b % 32));
          }),
      alu("v_bfi_b32", [](u32 a, u32 b, u32 c) { return c ^ (a & (b ^ c)); }),
      alu("v_alignbit_b32",
          [](u32 a, u32 b, u32 c) {
            return static_cast<u32>((u64{a} * 0x100000000 + b) / (u64{1} << c % 32));
          }),
      alu("v_alignbyte_b32",
          [](u32 a, u32 b, u32 c) {
            return static_cast<u32>((u64{a} * 0x100000000 + b) / (u64{1} << 8 * (c % 4)));
          }),
      alu("v_lshl_or_b32",
          [](u32 a, u32 b, u32 c) { return static_cast<u32>(a * (u64{1} << b % 32)) | c; }),
      alu("v_and_or_b32", [](u32 a, u32 b, u32 c) { return ~(~(a & b) & ~c); }),
      alu("v_or3_b32", [](u32 a, u32 b, u32 c) { return ~(~a & ~b & ~c); }),
      alu("v_lshlrev_b64", [](u32 a, u64 b) { return b * (u64{1} << a % 64); }),
      alu("v_lshrrev_b64", [](u32 a, u64 b) { return b / (u64{1} << a % 64); }),
      alu("v_ashrrev_i64",
          [](u32 a, i64 b) { return static_cast<i64>(static_cast<i128>(b) >> a % 64); }),
      alu("v_perm_b32", select),
      alu("v_perm_b32", select, selectors),
  };
}

u32 distance(u32 a, u32 b, bool masked) {
  u32 sum = 0;
  for (u32 k = 0; k < 4; ++k) {
    const i32 x = static_cast<i32>(a >> 8 * k & 0xff), y = static_cast<i32>(b >> 8 * k & 0xff);
    if (!masked || y != 0) sum += static_cast<u32>(std::abs(x - y));
  }
  return sum;
}

std::vector<Alu> packed_bytes() {
  const auto shifted = [](i64 low, i64 high) {
    return [low, high](i32 a, i32 b, u32 c) {
      const auto byte = [&](i32 x) {
        const i64 value = static_cast<i64>(std::floor(std::ldexp(x, -static_cast<int>(c % 32))));
        return static_cast<u32>(std::clamp(value, low, high)) & 0xff;
      };
      return static_cast<u16>(byte(a) | byte(b) << 8);
    };
  };
  return {
      limiting<u32>("v_sad_u8", [](u32 a, u32 b, u32 c) { return i64{distance(a, b, false)} + c; },
                    {}),
      limiting<u32>("v_sad_hi_u8",
                    [](u32 a, u32 b, u32 c) { return i64{distance(a, b, false)} * 65536 + c; }, {}),
      limiting<u32>("v_msad_u8", [](u32 a, u32 b, u32 c) { return i64{distance(a, b, true)} + c; },
                    {}),
      limiting<u32>("v_sad_u16",
                    [](u32 a, u32 b, u32 c) {
                      const i64 low = i64{a & 0xffff} - (b & 0xffff);
                      const i64 high = i64{a >> 16} - (b >> 16);
                      return std::abs(low) + std::abs(high) + c;
                    },
                    {}),
      limiting<u32>("v_sad_u32", [](u32 a, u32 b, u32 c) { return std::abs(i64{a} - b) + c; }, {}),
      alu("v_lerp_u8",
          [](u32 a, u32 b, u32 c) {
            u32 out = 0;
            for (u32 k = 0; k < 32; k += 8) {
              out += ((a >> k & 0xff) + (b >> k & 0xff) + (c >> k & 1)) / 2 << k;
            }
            return out;
          }),
      alu("v_cvt_pk_u16_u32",
          [](u32 a, u32 b) {
            return static_cast<u32>(limited_whole<u16>(a) + limited_whole<u16>(b) * 65536U);
          }),
      alu("v_cvt_pk_i16_i32",
          [](i32 a, i32 b) {
            return static_cast<u32>(static_cast<u16>(limited_whole<i16>(a)) +
                                    static_cast<u16>(limited_whole<i16>(b)) * 65536U);
          }),
      alu("v_ashr_pk_i8_i32", shifted(-128, 127), halves_kept),
      alu("v_ashr_pk_u8_i32", shifted(0, 255), halves_kept),
  };
}

// Any function of three bits: bit 4a + 2b + c of the truth table.
template <class T>
Alu truth_table(const char* name, unsigned truth) {
  return alu(name,
             [truth](T a, T b, T c) {
               T out = 0;
               for (unsigned k = 0; k < 8 * sizeof(T); ++k) {
                 const unsigned row = (a >> k & 1) * 4U + (b >> k & 1) * 2U + (c >> k & 1);
                 if ((truth >> row & 1) != 0) out = static_cast<T>(out | T{1} << k);
               }
               return out;
             },
             {.keeps_high = sizeof(T) == 2, .op_sel = sizeof(T) == 2, .truth = truth});
}

}  // namespace

Vectors vop3_integer_vectors(Arch arch) {
  std::vector<Alu> tables;
  for (unsigned truth = 1; truth < 256; truth += 23) {
    tables.push_back(truth_table<u32>("v_bitop3_b32", truth));
    tables.push_back(truth_table<u16>("v_bitop3_b16", truth));
  }
  Vectors out;
  for (const auto& table : {orders(), sums(), products(), bits(), packed_bytes(), tables}) {
    for (const Alu& alu : table) add_vectors(out, arch, alu);
  }
  return out;
}

}  // namespace gfx_test

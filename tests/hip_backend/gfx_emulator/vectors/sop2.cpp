// References of SOP2, SOPC and SOPK.
#include "sop.hpp"

namespace gfx_test {
namespace {

using namespace reference;

template <class T>
void add_logic_of(std::vector<Sop>& out, const std::string& suffix) {
  const auto add = [&](const std::string& stem, const std::function<T(T, T)>& f) {
    out.push_back(binary<T, T>("s_" + stem + suffix,
                               [f](T a, T b, const Before&) { return not_zero(f(a, b)); }));
  };
  add("and_b", [](T a, T b) { return a & b; });
  add("or_b", [](T a, T b) { return a | b; });
  add("xor_b", [](T a, T b) { return a ^ b; });
  add("andn2_b", [](T a, T b) { return a & ~b; });
  add("orn2_b", [](T a, T b) { return a | ~b; });
  add("nand_b", [](T a, T b) { return ~a | ~b; });
  add("nor_b", [](T a, T b) { return ~a & ~b; });
  add("xnor_b", [](T a, T b) { return (a & b) | (~a & ~b); });
  out.push_back(binary<T, T>("s_cselect_b" + suffix,
                             [](T a, T b, const Before& s) { return kept(s.scc ? a : b); }));
  constexpr unsigned bits = 8 * sizeof(T);
  out.push_back(binary<T, u32>("s_bitcmp0_b" + suffix, [](T a, u32 b, const Before&) {
    return tested((a >> b % bits & 1) == 0);
  }));
  out.push_back(binary<T, u32>("s_bitcmp1_b" + suffix, [](T a, u32 b, const Before&) {
    return tested((a >> b % bits & 1) != 0);
  }));
  out.push_back(binary<u32, u32>("s_bfm_b" + suffix, [](u32 a, u32 b, const Before&) {
    T out = 0;
    for (unsigned k = 0; k < a % bits && k + b % bits < bits; ++k) out |= T{1} << (k + b % bits);
    return kept(out);
  }));
}

// Fields bit by bit: offset in the low bits, width from bit 16 on.
template <class T>
After field_of(T value, u32 spec, bool is_signed) {
  constexpr unsigned bits = 8 * sizeof(T);
  const unsigned offset = spec % bits, width = spec >> 16 & 127;
  T out = 0;
  for (unsigned k = 0; k < bits && width != 0; ++k) {
    const unsigned from = k < width ? k : width - 1;
    const unsigned at = offset + from < bits ? offset + from : bits - 1;
    const bool inside = k < width && offset + k < bits;
    if ((inside || is_signed) && (value >> at & 1) != 0) out |= T{1} << k;
  }
  return not_zero(out);
}

template <class T>
void add_shifts_of(std::vector<Sop>& out, const std::string& suffix) {
  constexpr unsigned bits = 8 * sizeof(T);
  using Signed = std::make_signed_t<T>;
  out.push_back(binary<T, u32>("s_lshl_b" + suffix, [](T a, u32 b, const Before&) {
    return not_zero(static_cast<T>(static_cast<i128>(a) << b % bits));
  }));
  out.push_back(binary<T, u32>("s_lshr_b" + suffix, [](T a, u32 b, const Before&) {
    return not_zero(static_cast<T>(a / (static_cast<i128>(1) << b % bits)));
  }));
  out.push_back(binary<Signed, u32>("s_ashr_i" + suffix, [](Signed a, u32 b, const Before&) {
    return not_zero(static_cast<T>(static_cast<i128>(a) >> b % bits));
  }));
  out.push_back(binary<T, u32>("s_bfe_u" + suffix,
                               [](T a, u32 b, const Before&) { return field_of(a, b, false); }));
  out.push_back(binary<T, u32>("s_bfe_i" + suffix,
                               [](T a, u32 b, const Before&) { return field_of(a, b, true); }));
}

std::vector<Sop> sums() {
  const auto overflows = [](i64 value) { return value != static_cast<i32>(value); };
  std::vector<Sop> out = {
      binary<u32, u32>("s_add_u32",
                       [](u64 a, u64 b, const Before&) { return with(a + b, a + b > 0xffffffff); }),
      binary<u32, u32>("s_sub_u32", [](u64 a, u64 b, const Before&) { return with(a - b, b > a); }),
      binary<i32, i32>(
          "s_add_i32",
          [=](i64 a, i64 b, const Before&) { return with(low32(a + b), overflows(a + b)); }),
      binary<i32, i32>(
          "s_sub_i32",
          [=](i64 a, i64 b, const Before&) { return with(low32(a - b), overflows(a - b)); }),
      binary<u32, u32>("s_addc_u32",
                       [](u64 a, u64 b, const Before& s) {
                         return with(a + b + s.scc, a + b + s.scc > 0xffffffff);
                       }),
      binary<u32, u32>(
          "s_subb_u32",
          [](u64 a, u64 b, const Before& s) { return with(a - b - s.scc, b + s.scc > a); }),
      // SCC of equal numbers: 0 for min, 1 for max. AMD's machine-readable ISA of CDNA 4 (September
      // 2025) compares with < and >=.
      binary<i32, i32>(
          "s_min_i32",
          [](i64 a, i64 b, const Before&) { return with(low32(std::min(a, b)), a < b); }),
      binary<u32, u32>("s_min_u32",
                       [](u64 a, u64 b, const Before&) { return with(std::min(a, b), a < b); }),
      binary<i32, i32>(
          "s_max_i32",
          [](i64 a, i64 b, const Before&) { return with(low32(std::max(a, b)), a >= b); }),
      binary<u32, u32>("s_max_u32",
                       [](u64 a, u64 b, const Before&) { return with(std::max(a, b), a >= b); }),
      // The difference wraps first: of -2^31 and 1 it is 2^31 - 1.
      binary<i32, i32>("s_absdiff_i32",
                       [](i64 a, i64 b, const Before&) {
                         return not_zero(low32(std::abs(i64{static_cast<i32>(a - b)})));
                       }),
      binary<u32, u32>("s_mul_i32", [](u64 a, u64 b, const Before&) { return kept(a * b); }),
      binary<u32, u32>("s_mul_hi_u32",
                       [](u64 a, u64 b, const Before&) { return kept(a * b / 0x100000000); }),
      binary<i32, i32>("s_mul_hi_i32",
                       [](i64 a, i64 b, const Before&) {
                         return kept(low32(static_cast<i64>(
                             std::floor(static_cast<long double>(a * b) / 0x1p32L))));
                       }),
      binary<u32, u32>(
          "s_pack_ll_b32_b16",
          [](u32 a, u32 b, const Before&) { return kept(a % 65536 + b % 65536 * 65536); }),
      binary<u32, u32>(
          "s_pack_lh_b32_b16",
          [](u32 a, u32 b, const Before&) { return kept(a % 65536 + b / 65536 * 65536); }),
      binary<u32, u32>(
          "s_pack_hh_b32_b16",
          [](u32 a, u32 b, const Before&) { return kept(a / 65536 + b / 65536 * 65536); }),
  };
  for (unsigned k = 1; k <= 4; ++k) {
    out.push_back(binary<u32, u32>("s_lshl" + std::to_string(k) + "_add_u32",
                                   [k](u64 a, u64 b, const Before&) {
                                     const u64 sum = a * (1U << k) + b;
                                     return with(sum, sum > 0xffffffff);
                                   }));
  }
  return out;
}

std::vector<Sop> comparisons() {
  std::vector<Sop> out;
  const auto add = [&](const char* name, auto relation) {
    const std::string stem = name;
    out.push_back(binary<i32, i32>("s_cmp_" + stem + "_i32", [=](i64 a, i64 b, const Before&) {
      return tested(relation(a, b));
    }));
    out.push_back(binary<u32, u32>("s_cmp_" + stem + "_u32", [=](i64 a, i64 b, const Before&) {
      return tested(relation(a, b));
    }));
    out.push_back(binary<i32, i16>("s_cmpk_" + stem + "_i32", [=](i64 a, i64 b, const Before&) {
      return tested(relation(a, b));
    }));
    out.push_back(binary<u32, u16>("s_cmpk_" + stem + "_u32", [=](i64 a, i64 b, const Before&) {
      return tested(relation(a, b));
    }));
  };
  add("eq", [](i64 a, i64 b) { return a == b; });
  add("lg", [](i64 a, i64 b) { return a != b; });
  add("gt", [](i64 a, i64 b) { return a > b; });
  add("ge", [](i64 a, i64 b) { return a >= b; });
  add("lt", [](i64 a, i64 b) { return a < b; });
  add("le", [](i64 a, i64 b) { return a <= b; });
  out.push_back(
      binary<u64, u64>("s_cmp_eq_u64", [](u64 a, u64 b, const Before&) { return tested(a == b); }));
  out.push_back(
      binary<u64, u64>("s_cmp_lg_u64", [](u64 a, u64 b, const Before&) { return tested(a != b); }));
  return out;
}

// SOPK: the destination is the first source.
std::vector<Sop> constants() {
  return {
      binary<u32, i16>("s_movk_i32", [](u32, i64 b, const Before&) { return kept(low32(b)); }),
      binary<u32, i16>("s_cmovk_i32",
                       [](u32 a, i64 b, const Before& s) { return kept(s.scc ? low32(b) : a); }),
      binary<i32, i16>("s_addk_i32",
                       [](i64 a, i64 b, const Before&) {
                         return with(low32(a + b), a + b != static_cast<i32>(a + b));
                       }),
      binary<i32, i16>("s_mulk_i32",
                       [](i64 a, i64 b, const Before&) { return kept(low32(a * b)); }),
  };
}

}  // namespace

std::vector<Sop> sop2_table() {
  std::vector<Sop> out;
  add_logic_of<u32>(out, "32");
  add_logic_of<u64>(out, "64");
  add_shifts_of<u32>(out, "32");
  add_shifts_of<u64>(out, "64");
  for (const auto& table : {sums(), comparisons(), constants()}) {
    out.insert(out.end(), table.begin(), table.end());
  }
  return out;
}

}  // namespace gfx_test

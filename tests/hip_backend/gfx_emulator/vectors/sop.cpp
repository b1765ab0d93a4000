// SOP1, SOP2, SOPK and SOPC: results, SCC, and EXEC where an operation changes it.
#include <optional>

#include "../device.hpp"
#include "alu.hpp"
#include "families.hpp"
#include "reference.hpp"

namespace gfx_test {
namespace {

using namespace reference;
using mla::gfx::Arch;
using mla::gfx::Encoding;

struct Before {
  u64 old = 0, exec = 0;
  bool scc = false;
};
struct After {
  u64 value = 0;
  std::optional<bool> scc = {};
  std::optional<u64> exec = {};
};

struct Sop {
  std::string name;
  std::vector<Type> sources;
  std::function<After(u64, u64, const Before&)> run;
};

// References take one or two operands and the state before.
template <class A>
Sop unary(const std::string& name, std::function<After(A, const Before&)> f) {
  return {name, {type_of<A>()}, [f](u64 a, u64, const Before& before) {
            return f(from_bits<A>(a), before);
          }};
}
template <class A, class B>
Sop binary(const std::string& name, std::function<After(A, B, const Before&)> f) {
  return {name, {type_of<A>(), type_of<B>()}, [f](u64 a, u64 b, const Before& before) {
            return f(from_bits<A>(a), from_bits<B>(b), before);
          }};
}

After kept(u64 value) {
  return {.value = value};
}
After not_zero(u64 value) {
  return {.value = value, .scc = value != 0};
}
After with(u64 value, bool scc) {
  return {.value = value, .scc = scc};
}
After tested(bool scc) {
  return {.value = 0, .scc = scc};
}
u64 low32(i64 value) {
  return static_cast<u32>(value);
}

constexpr unsigned first = 20, second = 24, destination = 30;

Words encoded(const Op& op, unsigned src0, unsigned src1, int constant) {
  switch (op.encoding) {
    case Encoding::sop1:
      return encode::sop1(op.number, destination, src0);
    case Encoding::sop2:
      return encode::sop2(op.number, destination, src0, src1);
    case Encoding::sopc:
      return encode::sopc(op.number, src0, src1);
    default:
      return encode::sopk(op.number, destination, constant);
  }
}

void set_scalar(State& state, unsigned index, u64 value, bool wide) {
  state.s[index] = static_cast<u32>(value);
  if (wide) state.s[index + 1] = static_cast<u32>(value >> 32);
}

Vector make(const Op& op, const Sop& sop, u64 a, u64 b, const Before& before) {
  Vector out{.operation = op.name,
             .note = "values",
             .words = {},
             .before = {},
             .after = {},
             .memory_after = {}};
  const bool constant = op.encoding == Encoding::sopk;
  const bool wide = op.width[0] == 2;
  if (!constant) set_scalar(out.before, first, a, size_of(sop.sources[0]) == 8);
  if (!constant && sop.sources.size() > 1) {
    set_scalar(out.before, second, b, size_of(sop.sources[1]) == 8);
  }
  const u64 old = constant ? a : before.old;
  set_scalar(out.before, destination, old, true);
  out.before.exec = before.exec;
  out.before.scc = before.scc;
  out.words = encoded(op, first, second, static_cast<int>(b));
  const After after = sop.run(a, b, {.old = old, .exec = before.exec, .scc = before.scc});
  const bool writes = op.width[0] != 0;
  const u64 value = !writes ? old
                    : wide  ? after.value
                            : (old >> 32 << 32) | low32(static_cast<i64>(after.value));
  out.after = {expect_scalar(destination, static_cast<u32>(value)),
               expect_scalar(destination + 1, static_cast<u32>(value >> 32)),
               expect_flag(Expected::Where::scc, after.scc.value_or(before.scc) ? 1 : 0),
               expect_flag(Expected::Where::exec, after.exec.value_or(before.exec))};
  return out;
}

// Inline constants and a literal in the place of the first source.
void add_constants(Vectors& out, const Op& op, const Sop& sop, const Before& before) {
  if (op.encoding == Encoding::sopk) return;
  const Type type = sop.sources[0];
  for (const unsigned code : {128U, 131U, 192U, 193U, 208U, literal}) {
    if (code == literal && size_of(type) == 8) continue;
    const u64 value = code == literal ? 0x87654321 : inline_value(code, type);
    Vector vector = make(op, sop, value, 5, before);
    vector.note = "constant";
    vector.words = encoded(op, code, second, 0);
    if (code == literal) vector.words.push_back(static_cast<u32>(value));
    vector.before.s.erase(first);
    out.push_back(std::move(vector));
  }
}

void add_sop(Vectors& out, Arch arch, const Sop& sop) {
  const Op op = find_op(arch, sop.name);
  if (op.name.empty()) return;
  const auto rows = operand_rows(sop.name, sop.sources, {});
  const WideRow bits = random_row(sop.name);
  const bool everything = sop.sources.size() == 1;
  for (std::size_t n = 0; n < 64; ++n) {
    // One source: every edge. Two: spread over the product.
    const std::size_t at = everything ? n : n * (64 * rows.size() - 1) / 63;
    const Operands& row = rows[at / 64];
    out.push_back(make(op, sop, row[0][at % 64], row[1][at % 64],
                       {.old = bits[n], .exec = bits[63 - n], .scc = n % 2 != 0}));
  }
  add_constants(out, op, sop, {.old = bits[1], .exec = bits[2], .scc = true});
}

template <class T>
void add_unary_of(std::vector<Sop>& out, const std::string& suffix) {
  const auto add = [&](const std::string& stem, std::function<After(T, const Before&)> f) {
    out.push_back(unary<T>("s_" + stem + suffix, std::move(f)));
  };
  constexpr unsigned bits = 8 * sizeof(T);
  add("mov_b", [](T a, const Before&) { return kept(a); });
  add("cmov_b", [](T a, const Before& b) { return kept(b.scc ? a : b.old); });
  add("not_b", [](T a, const Before&) { return not_zero(static_cast<T>(~a)); });
  add("brev_b", [](T a, const Before&) { return kept(reversed(a)); });
  add("bcnt0_i32_b", [](T a, const Before&) { return not_zero(bits - ones(a)); });
  add("bcnt1_i32_b", [](T a, const Before&) { return not_zero(ones(a)); });
  add("ff0_i32_b", [](T a, const Before&) { return kept(low32(lowest_bit<T>(~a))); });
  add("ff1_i32_b", [](T a, const Before&) { return kept(low32(lowest_bit<T>(a))); });
  add("flbit_i32_b",
      [](T a, const Before&) { return kept(low32(a == 0 ? -1 : i32{bits} - 1 - highest_bit(a))); });
  add("wqm_b", [](T a, const Before&) {
    T out = 0;
    for (unsigned k = 0; k < bits; ++k) out |= (a >> k / 4 * 4 & 15) != 0 ? T{1} << k : 0;
    return not_zero(out);
  });
  add("quadmask_b", [](T a, const Before&) {
    T out = 0;
    for (unsigned k = 0; k < bits; ++k) out |= (a >> k & 1) << k / 4;
    return not_zero(out);
  });
  const std::string size = std::to_string(bits);
  out.push_back(unary<u32>("s_bitset0_b" + size, [](u32 a, const Before& b) {
    return kept(b.old & ~(u64{1} << a % bits));
  }));
  out.push_back(unary<u32>("s_bitset1_b" + size, [](u32 a, const Before& b) {
    return kept(b.old | u64{1} << a % bits);
  }));
}

std::vector<Sop> unaries() {
  std::vector<Sop> out = {
      unary<u32>("s_flbit_i32",
                 [](u32 a, const Before&) { return kept(low32(alike_from_top(a))); }),
      unary<u64>("s_flbit_i32_i64",
                 [](u64 a, const Before&) { return kept(low32(alike_from_top(a))); }),
      unary<u32>("s_sext_i32_i8",
                 [](u32 a, const Before&) { return kept(low32(sign_extended(a, 8))); }),
      unary<u32>("s_sext_i32_i16",
                 [](u32 a, const Before&) { return kept(low32(sign_extended(a, 16))); }),
      unary<i32>("s_abs_i32",
                 [](i32 a, const Before&) { return not_zero(low32(std::abs(i64{a}))); }),
      unary<u32>("s_bitreplicate_b64_b32",
                 [](u32 a, const Before&) {
                   u64 out = 0;
                   for (unsigned k = 0; k < 64; ++k) out |= u64{a >> k / 2 & 1} << k;
                   return kept(out);
                 }),
  };
  add_unary_of<u32>(out, "32");
  add_unary_of<u64>(out, "64");
  return out;
}

std::vector<Sop> exec_operations() {
  using Logic = u64 (*)(u64, u64);
  struct Named {
    const char* name;
    Logic run;
  };
  std::vector<Sop> out;
  for (const auto& [name, run] : {
           Named{"and", [](u64 s, u64 e) { return s & e; }},
           {"or", [](u64 s, u64 e) { return s | e; }},
           {"xor", [](u64 s, u64 e) { return s ^ e; }},
           {"andn2", [](u64 s, u64 e) { return s & ~e; }},
           {"orn2", [](u64 s, u64 e) { return s | ~e; }},
           {"nand", [](u64 s, u64 e) { return ~s | ~e; }},
           {"nor", [](u64 s, u64 e) { return ~s & ~e; }},
           {"xnor", [](u64 s, u64 e) { return (s & e) | (~s & ~e); }},
           {"andn1", [](u64 s, u64 e) { return ~s & e; }},
           {"orn1", [](u64 s, u64 e) { return ~s | e; }},
       }) {
    const Logic logic = run;
    out.push_back(unary<u64>("s_" + std::string(name) + "_saveexec_b64",
                             [logic](u64 a, const Before& b) -> After {
                               const u64 exec = logic(a, b.exec);
                               return {.value = b.exec, .scc = exec != 0, .exec = exec};
                             }));
    if (std::string(name) != "andn1" && std::string(name) != "andn2") continue;
    out.push_back(unary<u64>("s_" + std::string(name) + "_wrexec_b64",
                             [logic](u64 a, const Before& b) -> After {
                               const u64 exec = logic(a, b.exec);
                               return {.value = exec, .scc = exec != 0, .exec = exec};
                             }));
  }
  return out;
}

template <class T>
void add_logic_of(std::vector<Sop>& out, const std::string& suffix) {
  const auto add = [&](const std::string& stem, std::function<T(T, T)> f) {
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
      binary<i32, i32>(
          "s_min_i32",
          [](i64 a, i64 b, const Before&) { return with(low32(std::min(a, b)), a < b); }),
      binary<u32, u32>("s_min_u32",
                       [](u64 a, u64 b, const Before&) { return with(std::min(a, b), a < b); }),
      binary<i32, i32>(
          "s_max_i32",
          [](i64 a, i64 b, const Before&) { return with(low32(std::max(a, b)), a > b); }),
      binary<u32, u32>("s_max_u32",
                       [](u64 a, u64 b, const Before&) { return with(std::max(a, b), a > b); }),
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

Vectors sop_vectors(Arch arch) {
  std::vector<Sop> wide;
  add_logic_of<u32>(wide, "32");
  add_logic_of<u64>(wide, "64");
  add_shifts_of<u32>(wide, "32");
  add_shifts_of<u64>(wide, "64");
  Vectors out;
  for (const auto& table :
       {unaries(), exec_operations(), wide, sums(), comparisons(), constants()}) {
    for (const Sop& sop : table) add_sop(out, arch, sop);
  }
  return out;
}

}  // namespace gfx_test

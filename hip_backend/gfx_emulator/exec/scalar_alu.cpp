// SOP1, SOP2, SOPK and SOPC: arithmetic, bits and comparisons. SCC is the carry, the overflow, or
// "the result is not zero", as the manual says for each.
#include <bit>

#include "hip_backend/gfx_emulator/exec/handlers.hpp"
#include "hip_backend/gfx_emulator/exec/wave.hpp"

namespace mla::gfx {
namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

template <class T>
T get(const Wave& w, const Inst& i, unsigned k) {
  if constexpr (sizeof(T) == 8) {
    if (std::is_signed_v<T> && i.src[k] == code::literal) return static_cast<T>(signed_literal(i));
    return static_cast<T>(read_scalar64(w, i, i.src[k]));
  } else {
    return static_cast<T>(read_scalar(w, i, i.src[k]));
  }
}

template <class T>
void put(Wave& w, const Inst& i, T value) {
  if constexpr (sizeof(T) == 8) {
    write_scalar64(w, i.dst, static_cast<u64>(value));
  } else {
    write_scalar(w, i.dst, static_cast<u32>(value));
  }
}

enum class Scc { kept, not_zero };

// Operations are lambdas without captures; the handler is made from the type of the lambda.
template <class T, Scc scc, class F>
constexpr Handler unary(F) {
  return [](Wave& w, const Inst& i) {
    const auto result = F{}(get<T>(w, i, 0));
    put(w, i, result);
    if constexpr (scc == Scc::not_zero) w.scc = result != 0;
  };
}

template <class A, class B, Scc scc, class F>
constexpr Handler binary(F) {
  return [](Wave& w, const Inst& i) {
    const auto result = F{}(get<A>(w, i, 0), get<B>(w, i, 1));
    put(w, i, result);
    if constexpr (scc == Scc::not_zero) w.scc = result != 0;
  };
}

// F also gives SCC through its last argument, which holds the old one.
template <class T, class F>
constexpr Handler with_scc(F) {
  return [](Wave& w, const Inst& i) {
    u32 scc = w.scc;
    const T result = F{}(get<T>(w, i, 0), get<T>(w, i, 1), scc);
    put(w, i, result);
    w.scc = scc;
  };
}

template <class A, class B, class F>
constexpr Handler test(F) {
  return [](Wave& w, const Inst& i) { w.scc = F{}(get<A>(w, i, 0), get<B>(w, i, 1)); };
}

template <class T, class F>
constexpr Handler test_constant(F) {
  return [](Wave& w, const Inst& i) {
    const u32 constant = std::is_signed_v<T> ? static_cast<u32>(i.imm) : i.imm & 0xffffU;
    w.scc = F{}(get<T>(w, i, 0), static_cast<T>(constant));
  };
}

template <class F>
constexpr Handler save_exec(F) {
  return [](Wave& w, const Inst& i) {
    const u64 before = w.exec(), source = get<u64>(w, i, 0);
    put(w, i, before);
    w.set_pair(code::exec, F{}(source, before));
    w.scc = w.exec() != 0;
  };
}

template <class F>
constexpr Handler write_exec(F) {
  return [](Wave& w, const Inst& i) {
    w.set_pair(code::exec, F{}(get<u64>(w, i, 0), w.exec()));
    put(w, i, w.exec());
    w.scc = w.exec() != 0;
  };
}

template <class T>
void conditional_move(Wave& w, const Inst& i) {
  if (w.scc != 0) put(w, i, get<T>(w, i, 0));
}

template <class T>
void select(Wave& w, const Inst& i) {
  put(w, i, w.scc != 0 ? get<T>(w, i, 0) : get<T>(w, i, 1));
}

template <class T, bool one>
void set_bit(Wave& w, const Inst& i) {
  constexpr u32 bits = 8 * sizeof(T);
  const T bit = T{1} << (get<u32>(w, i, 0) & (bits - 1));
  const T old = static_cast<T>(sizeof(T) == 8 ? w.pair(i.dst) : w.s[i.dst]);
  put(w, i, static_cast<T>(one ? old | bit : old & ~bit));
}

template <class T>
T extract(T value, u32 spec, u32 width_bits) {
  constexpr u32 bits = 8 * sizeof(T);
  const u32 offset = spec & (bits - 1);
  u32 width = spec >> 16 & ((1U << width_bits) - 1);
  if (width == 0) return 0;
  if (width > bits - offset) return static_cast<T>(value >> offset);
  const u32 up = bits - offset - width;
  return static_cast<T>(static_cast<T>(static_cast<std::make_unsigned_t<T>>(value) << up) >>
                        (bits - width));
}

constexpr i32 first_one(u64 value, int none) {
  return value == 0 ? none : std::countr_zero(value);
}

// Leading bits that equal the sign, or -1 where all are.
template <class T>
i32 sign_run(T value) {
  const auto bits = static_cast<std::make_unsigned_t<T>>(value < 0 ? ~value : value);
  return bits == 0 ? -1 : std::countl_zero(bits);
}

template <class T>
T reverse(T value) {
  T out = 0;
  for (unsigned k = 0; k < 8 * sizeof(T); ++k) out = static_cast<T>(out << 1 | (value >> k & 1));
  return out;
}

template <class T>
T whole_quads(T value) {
  T out = 0;
  for (unsigned k = 0; k < 8 * sizeof(T); k += 4) {
    if ((value >> k & 15) != 0) out |= T{15} << k;
  }
  return out;
}

template <class T>
T quad_mask(T value) {
  T out = 0;
  for (unsigned k = 0; k < 2 * sizeof(T); ++k) {
    if ((value >> 4 * k & 15) != 0) out |= T{1} << k;
  }
  return out;
}

u64 replicate(u32 value) {
  u64 out = 0;
  for (unsigned k = 0; k < 32; ++k) out |= u64{value >> k & 1} * 3 << 2 * k;
  return out;
}

template <u32 shift>
u32 shift_add(u32 a, u32 b, u32& scc) {
  const u64 sum = (u64{a} << shift) + b;
  scc = sum >> 32 != 0;
  return static_cast<u32>(sum);
}

u32 bit_field_mask(u32 a, u32 b) {
  return ((1U << (a & 31)) - 1) << (b & 31);
}

// Adds and subtracts of signed values report overflow.
i32 add_i32(i32 a, i32 b, u32& scc) {
  i32 out = 0;
  scc = __builtin_add_overflow(a, b, &out);
  return out;
}
i32 sub_i32(i32 a, i32 b, u32& scc) {
  i32 out = 0;
  scc = __builtin_sub_overflow(a, b, &out);
  return out;
}

void add_constant(Wave& w, const Inst& i) {
  put(w, i, add_i32(static_cast<i32>(w.s[i.dst]), i.imm, w.scc));
}

#define BOTH(stem, T32, T64, scc, ...)                                                      \
  {"s_" stem "32", unary<T32, scc>([](T32 a) { return static_cast<T32>(__VA_ARGS__); })}, { \
    "s_" stem "64", unary<T64, scc>([](T64 a) { return static_cast<T64>(__VA_ARGS__); })    \
  }
#define LOGIC(stem, ...)                                                                 \
  {"s_" stem "_b32",                                                                     \
   binary<u32, u32, Scc::not_zero>([](u32 a, u32 b) -> u32 { return __VA_ARGS__; })},    \
  {                                                                                      \
    "s_" stem "_b64",                                                                    \
        binary<u64, u64, Scc::not_zero>([](u64 a, u64 b) -> u64 { return __VA_ARGS__; }) \
  }
#define EXEC(stem, ...) \
  {"s_" stem "_saveexec_b64", save_exec([](u64 s, u64 e) { return __VA_ARGS__; })}
#define CMP(name, op)                                                                     \
  {"s_cmp_" name "_i32", test<i32, i32>([](i32 a, i32 b) { return a op b; })},            \
      {"s_cmp_" name "_u32", test<u32, u32>([](u32 a, u32 b) { return a op b; })},        \
      {"s_cmpk_" name "_i32", test_constant<i32>([](i32 a, i32 b) { return a op b; })}, { \
    "s_cmpk_" name "_u32", test_constant<u32>([](u32 a, u32 b) { return a op b; })        \
  }

const Entry alu_table[] = {
    {"s_mov_b32", unary<u32, Scc::kept>([](u32 a) { return a; })},
    {"s_mov_b64", unary<u64, Scc::kept>([](u64 a) { return a; })},
    {"s_cmov_b32", conditional_move<u32>},
    {"s_cmov_b64", conditional_move<u64>},
    {"s_movk_i32", [](Wave& w, const Inst& i) { put(w, i, i.imm); }},
    {"s_cmovk_i32",
     [](Wave& w, const Inst& i) {
       if (w.scc != 0) put(w, i, i.imm);
     }},
    {"s_addk_i32", add_constant},
    {"s_mulk_i32", [](Wave& w, const Inst& i) { put(w, i, w.s[i.dst] * static_cast<u32>(i.imm)); }},
    BOTH("not_b", u32, u64, Scc::not_zero, ~a),
    BOTH("wqm_b", u32, u64, Scc::not_zero, whole_quads(a)),
    BOTH("quadmask_b", u32, u64, Scc::not_zero, quad_mask(a)),
    BOTH("brev_b", u32, u64, Scc::kept, reverse(a)),
    {"s_bcnt0_i32_b32", unary<u32, Scc::not_zero>([](u32 a) { return std::popcount(~a); })},
    {"s_bcnt0_i32_b64", unary<u64, Scc::not_zero>([](u64 a) { return std::popcount(~a); })},
    {"s_bcnt1_i32_b32", unary<u32, Scc::not_zero>([](u32 a) { return std::popcount(a); })},
    {"s_bcnt1_i32_b64", unary<u64, Scc::not_zero>([](u64 a) { return std::popcount(a); })},
    {"s_ff0_i32_b32",
     unary<u32, Scc::kept>([](u32 a) { return first_one(static_cast<u32>(~a), -1); })},
    {"s_ff0_i32_b64", unary<u64, Scc::kept>([](u64 a) { return first_one(~a, -1); })},
    {"s_ff1_i32_b32", unary<u32, Scc::kept>([](u32 a) { return first_one(a, -1); })},
    {"s_ff1_i32_b64", unary<u64, Scc::kept>([](u64 a) { return first_one(a, -1); })},
    {"s_flbit_i32_b32",
     unary<u32, Scc::kept>([](u32 a) { return a == 0 ? -1 : std::countl_zero(a); })},
    {"s_flbit_i32_b64",
     unary<u64, Scc::kept>([](u64 a) { return a == 0 ? -1 : std::countl_zero(a); })},
    {"s_flbit_i32", unary<i32, Scc::kept>([](i32 a) { return sign_run(a); })},
    {"s_flbit_i32_i64", unary<i64, Scc::kept>([](i64 a) { return sign_run(a); })},
    {"s_sext_i32_i8",
     unary<u32, Scc::kept>([](u32 a) { return i32{static_cast<std::int8_t>(a)}; })},
    {"s_sext_i32_i16",
     unary<u32, Scc::kept>([](u32 a) { return i32{static_cast<std::int16_t>(a)}; })},
    {"s_abs_i32",
     unary<u32, Scc::not_zero>([](u32 a) { return static_cast<i32>(a) < 0 ? 0U - a : a; })},
    {"s_bitreplicate_b64_b32", unary<u32, Scc::kept>([](u32 a) { return replicate(a); })},
    {"s_bitset0_b32", set_bit<u32, false>},
    {"s_bitset0_b64", set_bit<u64, false>},
    {"s_bitset1_b32", set_bit<u32, true>},
    {"s_bitset1_b64", set_bit<u64, true>},
    EXEC("and", s& e),
    EXEC("or", s | e),
    EXEC("xor", s ^ e),
    EXEC("andn2", s & ~e),
    EXEC("orn2", s | ~e),
    EXEC("nand", ~(s& e)),
    EXEC("nor", ~(s | e)),
    EXEC("xnor", ~(s ^ e)),
    EXEC("andn1", ~s& e),
    EXEC("orn1", ~s | e),
    {"s_andn1_wrexec_b64", write_exec([](u64 s, u64 e) { return ~s & e; })},
    {"s_andn2_wrexec_b64", write_exec([](u64 s, u64 e) { return s & ~e; })},
    {"s_add_u32", with_scc<u32>([](u32 a, u32 b, u32& c) { return c = a + b < a, a + b; })},
    {"s_sub_u32", with_scc<u32>([](u32 a, u32 b, u32& c) { return c = b > a, a - b; })},
    {"s_add_i32", with_scc<i32>([](i32 a, i32 b, u32& c) { return add_i32(a, b, c); })},
    {"s_sub_i32", with_scc<i32>([](i32 a, i32 b, u32& c) { return sub_i32(a, b, c); })},
    {"s_addc_u32", with_scc<u32>([](u32 a, u32 b, u32& c) -> u32 {
       const u64 sum = u64{a} + b + c;
       return c = static_cast<u32>(sum >> 32), static_cast<u32>(sum);
     })},
    {"s_subb_u32", with_scc<u32>([](u32 a, u32 b, u32& c) -> u32 {
       const u64 taken = u64{b} + c;
       return c = taken > a, static_cast<u32>(a - taken);
     })},
    {"s_min_i32", with_scc<i32>([](i32 a, i32 b, u32& c) { return c = a < b, a < b ? a : b; })},
    {"s_min_u32", with_scc<u32>([](u32 a, u32 b, u32& c) { return c = a < b, a < b ? a : b; })},
    {"s_max_i32", with_scc<i32>([](i32 a, i32 b, u32& c) { return c = a >= b, a > b ? a : b; })},
    {"s_max_u32", with_scc<u32>([](u32 a, u32 b, u32& c) { return c = a >= b, a > b ? a : b; })},
    {"s_cselect_b32", select<u32>},
    {"s_cselect_b64", select<u64>},
    LOGIC("and", a& b),
    LOGIC("or", a | b),
    LOGIC("xor", a ^ b),
    LOGIC("andn2", a & ~b),
    LOGIC("orn2", a | ~b),
    LOGIC("nand", ~(a& b)),
    LOGIC("nor", ~(a | b)),
    LOGIC("xnor", ~(a ^ b)),
    {"s_lshl_b32", binary<u32, u32, Scc::not_zero>([](u32 a, u32 b) { return a << (b & 31); })},
    {"s_lshl_b64", binary<u64, u32, Scc::not_zero>([](u64 a, u32 b) { return a << (b & 63); })},
    {"s_lshr_b32", binary<u32, u32, Scc::not_zero>([](u32 a, u32 b) { return a >> (b & 31); })},
    {"s_lshr_b64", binary<u64, u32, Scc::not_zero>([](u64 a, u32 b) { return a >> (b & 63); })},
    {"s_ashr_i32", binary<i32, u32, Scc::not_zero>([](i32 a, u32 b) { return a >> (b & 31); })},
    {"s_ashr_i64", binary<i64, u32, Scc::not_zero>([](i64 a, u32 b) { return a >> (b & 63); })},
    {"s_bfm_b32", binary<u32, u32, Scc::kept>([](u32 a, u32 b) { return bit_field_mask(a, b); })},
    {"s_bfm_b64", binary<u32, u32, Scc::kept>(
                      [](u32 a, u32 b) { return ((u64{1} << (a & 63)) - 1) << (b & 63); })},
    {"s_mul_i32", binary<u32, u32, Scc::kept>([](u32 a, u32 b) { return a * b; })},
    {"s_mul_hi_u32",
     binary<u32, u32, Scc::kept>([](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); })},
    {"s_mul_hi_i32",
     binary<i32, i32, Scc::kept>([](i32 a, i32 b) { return static_cast<u32>(i64{a} * b >> 32); })},
    {"s_bfe_u32", binary<u32, u32, Scc::not_zero>([](u32 a, u32 b) { return extract(a, b, 7); })},
    {"s_bfe_i32", binary<i32, u32, Scc::not_zero>([](i32 a, u32 b) { return extract(a, b, 7); })},
    {"s_bfe_u64", binary<u64, u32, Scc::not_zero>([](u64 a, u32 b) { return extract(a, b, 7); })},
    {"s_bfe_i64", binary<i64, u32, Scc::not_zero>([](i64 a, u32 b) { return extract(a, b, 7); })},
    // The difference wraps before its sign is looked at.
    {"s_absdiff_i32", binary<i32, i32, Scc::not_zero>([](i32 a, i32 b) {
       const u32 d = static_cast<u32>(a) - static_cast<u32>(b);
       return static_cast<i32>(d) < 0 ? 0U - d : d;
     })},
    {"s_lshl1_add_u32", with_scc<u32>([](u32 a, u32 b, u32& c) { return shift_add<1>(a, b, c); })},
    {"s_lshl2_add_u32", with_scc<u32>([](u32 a, u32 b, u32& c) { return shift_add<2>(a, b, c); })},
    {"s_lshl3_add_u32", with_scc<u32>([](u32 a, u32 b, u32& c) { return shift_add<3>(a, b, c); })},
    {"s_lshl4_add_u32", with_scc<u32>([](u32 a, u32 b, u32& c) { return shift_add<4>(a, b, c); })},
    {"s_pack_ll_b32_b16",
     binary<u32, u32, Scc::kept>([](u32 a, u32 b) { return (a & 0xffff) | b << 16; })},
    {"s_pack_lh_b32_b16",
     binary<u32, u32, Scc::kept>([](u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000); })},
    {"s_pack_hh_b32_b16",
     binary<u32, u32, Scc::kept>([](u32 a, u32 b) { return a >> 16 | (b & 0xffff0000); })},
    CMP("eq", ==),
    CMP("lg", !=),
    CMP("gt", >),
    CMP("ge", >=),
    CMP("lt", <),
    CMP("le", <=),
    {"s_cmp_eq_u64", test<u64, u64>([](u64 a, u64 b) { return a == b; })},
    {"s_cmp_lg_u64", test<u64, u64>([](u64 a, u64 b) { return a != b; })},
    {"s_bitcmp0_b32", test<u32, u32>([](u32 a, u32 b) { return (a >> (b & 31) & 1) == 0; })},
    {"s_bitcmp1_b32", test<u32, u32>([](u32 a, u32 b) { return (a >> (b & 31) & 1) != 0; })},
    {"s_bitcmp0_b64", test<u64, u32>([](u64 a, u32 b) { return (a >> (b & 63) & 1) == 0; })},
    {"s_bitcmp1_b64", test<u64, u32>([](u64 a, u32 b) { return (a >> (b & 63) & 1) != 0; })},
};

}  // namespace

Entries scalar_alu_entries() {
  return alu_table;
}

}  // namespace mla::gfx

// VOP3P: pairs of 16-bit values and pairs of f32, each half of the result from chosen halves.
#include "alu.hpp"
#include "families.hpp"
#include "reference.hpp"

namespace gfx_test {
namespace {

using namespace reference;
using mla::gfx::Arch;

constexpr std::array<unsigned, 3> sources = {vgpr + 10, vgpr + 14, vgpr + 18};
constexpr unsigned destination = vgpr + 22, scalar = 20;

// An element of the result from elements of the sources: 16 bits or f32.
struct Packed {
  std::string name;
  unsigned count = 2, bits = 16;
  bool real = false, limits = true;  // clamp has a meaning
  std::function<u64(u64, u64, u64, bool clamp)> run;
};

struct Form {
  std::string note;
  unsigned neg = 0, neg_hi = 0, op_sel = 0, op_sel_hi = 7;
  bool clamp = false;
  u64 exec = ~u64{0};
  unsigned scalar_source = 3, code = 0;
  u64 value = 0;  // what the scalar source is, as a register (pair)
};

u64 element(const Packed& p, u64 value, bool high, bool negate) {
  u64 out = (high ? value >> p.bits : value) & ((u64{1} << p.bits) - 1);
  return negate ? out ^ u64 { 1 } << (p.bits - 1) : out;
}

Vector make(const Op& op, const Packed& p, const Form& form, const Operands& operands) {
  Vector out{.operation = op.name, .note = form.note};
  const unsigned bytes = p.bits / 4;
  std::array<unsigned, 3> src = sources;
  for (unsigned k = 0; k < p.count; ++k) {
    if (k == form.scalar_source) {
      src[k] = form.code;
    } else {
      put_row(out.before, sources[k], operands[k], bytes);
    }
  }
  if (p.count == 2) src[2] = 0;
  if (form.code == scalar) {
    out.before.s[scalar] = static_cast<u32>(form.value);
    out.before.s[scalar + 1] = static_cast<u32>(form.value >> 32);
  }
  const WideRow old = random_row(p.name + "old");
  put_row(out.before, destination, old, bytes);
  out.before.exec = form.exec;
  const unsigned used = (1U << p.count) - 1;
  out.words = encode::vop3p(op.number, {.dst = destination,
                                        .src = src,
                                        .neg = form.neg & used,
                                        .neg_hi = form.neg_hi & used,
                                        .op_sel = form.op_sel & used,
                                        .op_sel_hi = form.op_sel_hi,
                                        .clamp = form.clamp});
  Expected result{.index = destination,
                  .words = bytes / 4,
                  .values = {},
                  .compare = !p.real        ? Compare::bits
                             : p.bits == 16 ? Compare::two_f16
                                            : Compare::two_f32};
  for (unsigned l = 0; l < lanes; ++l) {
    u64 low[3] = {}, high[3] = {};
    for (unsigned k = 0; k < p.count; ++k) {
      const u64 value = k == form.scalar_source ? form.value : operands[k][l];
      low[k] = element(p, value, (form.op_sel >> k & 1) != 0, (form.neg >> k & 1) != 0);
      high[k] = element(p, value, (form.op_sel_hi >> k & 1) != 0, (form.neg_hi >> k & 1) != 0);
    }
    const u64 value = p.run(low[0], low[1], low[2], form.clamp) |
                      p.run(high[0], high[1], high[2], form.clamp) << p.bits;
    result.values[l] = (form.exec >> l & 1) != 0 ? value : old[l];
    if (bytes == 4) result.values[l] &= 0xffffffff;
  }
  out.after = {result};
  return out;
}

// A constant of 16-bit operations stands in the low half, integers with their sign above; of f32 it
// is both halves (assumption PACKED_F32_CONSTANT).
void add_constants(Vectors& out, const Op& op, const Packed& p, const Operands& row) {
  std::vector<unsigned> codes = {128, 133, 193, 208};
  if (p.real) codes = {128, 240, 243, 246, 248};
  for (unsigned k = 0; k < p.count; ++k) {
    for (const unsigned code : codes) {
      u64 value = inline_value(code, p.bits == 32 ? Type::f32 : p.real ? Type::f16 : Type::u32);
      if (p.bits == 32) value |= value << 32;
      out.push_back(
          make(op, p, {.note = "constant", .scalar_source = k, .code = code, .value = value}, row));
    }
    out.push_back(make(
        op, p, {.note = "scalar", .scalar_source = k, .code = scalar, .value = row[k][9]}, row));
  }
}

void add_packed(Vectors& out, Arch arch, const Packed& p) {
  const Op op = find_op(arch, p.name);
  if (op.name.empty()) return;
  const Type type = p.bits == 32 ? Type::f32 : p.real ? Type::f16 : Type::i16;
  const std::vector<Type> types(p.count, type);
  const auto low = operand_rows(p.name, types, {}), high = operand_rows(p.name + "high", types, {});
  std::vector<Operands> rows = low;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (unsigned k = 0; k < p.count; ++k) {
      for (unsigned l = 0; l < lanes; ++l) {
        rows[r][k][l] = low[r][k][l] | high[rows.size() - 1 - r][k][l] << p.bits;
      }
    }
    out.push_back(make(op, p, {.note = "registers"}, rows[r]));
  }
  const Operands& last = rows.back();
  out.push_back(make(op, p, {.note = "part of EXEC", .exec = 0x8001f00f5555aaaa}, last));
  for (const unsigned bits : {1U, 2U, 4U, 7U}) {
    out.push_back(make(op, p, {.note = "op_sel", .op_sel = bits}, last));
    out.push_back(make(op, p, {.note = "op_sel_hi", .op_sel_hi = 7 & ~bits}, last));
    out.push_back(make(op, p, {.note = "both", .op_sel = bits, .op_sel_hi = 7 & ~bits}, last));
    if (!p.real) continue;
    out.push_back(make(op, p, {.note = "neg_lo", .neg = bits}, last));
    out.push_back(make(op, p, {.note = "neg_hi", .neg_hi = bits}, last));
  }
  if (p.limits) out.push_back(make(op, p, {.note = "clamp", .clamp = true}, last));
  add_constants(out, op, p, last);
}

double clamped(double value) {
  return std::isnan(value) ? 0 : std::clamp(value, 0.0, 1.0) + 0.0;
}

Packed halves(const char* name, unsigned count, const std::function<Half(Half, Half, Half)>& f) {
  return {.name = name, .count = count, .real = true, .run = [f](u64 a, u64 b, u64 c, bool clamp) {
            const auto half = [](u64 bits) { return Half{static_cast<u16>(bits)}; };
            const Half value = f(half(a), half(b), half(c));
            return u64{clamp ? half_of(clamped(value_of(value))).bits : value.bits};
          }};
}
Packed floats(const char* name, unsigned count,
              const std::function<float(float, float, float)>& f) {
  return {.name = name,
          .count = count,
          .bits = 32,
          .real = true,
          .run = [f](u64 a, u64 b, u64 c, bool clamp) {
            const float value = f(from_bits<float>(a), from_bits<float>(b), from_bits<float>(c));
            return u64{
                bits_of(clamp ? static_cast<float>(clamped(static_cast<double>(value))) : value)};
          }};
}
template <class T>
Packed integers(const char* name, unsigned count, const std::function<i64(i64, i64, i64)>& f) {
  return {.name = name, .count = count, .run = [f](u64 a, u64 b, u64 c, bool clamp) {
            const i64 value = f(from_bits<T>(a), from_bits<T>(b), from_bits<T>(c));
            return u64{static_cast<u16>(clamp ? limited_whole<T>(value) : value)};
          }};
}

Packed without_clamp(Packed p) {
  p.limits = false;
  return p;
}

std::vector<Packed> real_pairs() {
  const auto by_value = [](auto f) {
    return [f](Half a, Half b, Half) { return half_of(f(value_of(a), value_of(b))); };
  };
  const auto of_three = [](auto f) {
    return [f](Half a, Half b, Half c) {
      const double x = value_of(a), y = value_of(b), z = value_of(c);
      if (std::isnan(x) || std::isnan(y) || std::isnan(z)) return Half{0x7e00};
      return half_of(f(f(x, y), z));
    };
  };
  const auto less = [](double a, double b) { return lesser(a, b); };
  const auto more = [](double a, double b) { return greater(a, b); };
  return {
      halves("v_pk_add_f16", 2, by_value([](double a, double b) { return a + b; })),
      halves("v_pk_mul_f16", 2, by_value([](double a, double b) { return a * b; })),
      halves("v_pk_min_f16", 2, by_value(less)),
      halves("v_pk_max_f16", 2, by_value(more)),
      halves("v_pk_fma_f16", 3, fused),
      halves("v_pk_minimum3_f16", 3, of_three(less)),
      halves("v_pk_maximum3_f16", 3, of_three(more)),
      floats("v_pk_add_f32", 2, [](float a, float b, float) { return a + b; }),
      floats("v_pk_mul_f32", 2, [](float a, float b, float) { return a * b; }),
      floats("v_pk_fma_f32", 3, [](float a, float b, float c) { return std::fma(a, b, c); }),
  };
}

std::vector<Packed> integer_pairs() {
  const auto add = [](i64 a, i64 b, i64) { return a + b; };
  const auto sub = [](i64 a, i64 b, i64) { return a - b; };
  const auto mad = [](i64 a, i64 b, i64 c) { return a * b + c; };
  const auto less = [](i64 a, i64 b, i64) { return std::min(a, b); };
  const auto more = [](i64 a, i64 b, i64) { return std::max(a, b); };
  const auto wrap = [](i64 value) { return i64{static_cast<u16>(value)}; };
  return {
      integers<u16>("v_pk_add_u16", 2, add),
      integers<u16>("v_pk_sub_u16", 2, sub),
      integers<i16>("v_pk_add_i16", 2, add),
      integers<i16>("v_pk_sub_i16", 2, sub),
      integers<u16>("v_pk_mad_u16", 3, mad),
      integers<i16>("v_pk_mad_i16", 3, mad),
      integers<u16>("v_pk_min_u16", 2, less),
      integers<u16>("v_pk_max_u16", 2, more),
      integers<i16>("v_pk_min_i16", 2, less),
      integers<i16>("v_pk_max_i16", 2, more),
      // The manuals say nothing of a clamp here.
      without_clamp(
          integers<u16>("v_pk_mul_lo_u16", 2, [=](i64 a, i64 b, i64) { return wrap(a * b); })),
      without_clamp(integers<u16>("v_pk_lshlrev_b16", 2,
                                  [=](i64 a, i64 b, i64) { return wrap(b << a % 16); })),
      without_clamp(
          integers<u16>("v_pk_lshrrev_b16", 2, [](i64 a, i64 b, i64) { return b >> a % 16; })),
      without_clamp(
          integers<i16>("v_pk_ashrrev_i16", 2, [](i64 a, i64 b, i64) { return b >> (a & 15); })),
  };
}

// v_pk_mov_b32: the low result is a half of source 0, the high one of source 1; op_sel names both.
void add_moves(Vectors& out, Arch arch) {
  const Op op = find_op(arch, "v_pk_mov_b32");
  for (unsigned op_sel = 0; op_sel < 4; ++op_sel) {
    for (const unsigned op_sel_hi : {7U, 4U}) {
      Vector v{.operation = op.name, .note = "op_sel " + std::to_string(op_sel)};
      const WideRow a = random_row("a"), b = random_row("b"), old = random_row("old");
      put_row(v.before, sources[0], a, 8);
      put_row(v.before, sources[1], b, 8);
      put_row(v.before, destination, old, 8);
      v.before.exec = op_sel == 3 ? 0xf0f0f0f0f0f0ff00 : ~u64{0};
      v.words = encode::vop3p(op.number, {.dst = destination,
                                          .src = {sources[0], sources[1], 0},
                                          .op_sel = op_sel,
                                          .op_sel_hi = op_sel_hi});
      Expected result{.index = destination, .words = 2, .values = {}};
      for (unsigned l = 0; l < lanes; ++l) {
        const u64 low = (op_sel & 1) != 0 ? a[l] >> 32 : a[l] & 0xffffffff;
        const u64 high = (op_sel & 2) != 0 ? b[l] >> 32 : b[l] & 0xffffffff;
        result.values[l] = (v.before.exec >> l & 1) != 0 ? low | high << 32 : old[l];
      }
      v.after = {result};
      out.push_back(std::move(v));
    }
  }
}

}  // namespace

Vectors packed_vectors(Arch arch) {
  Vectors out;
  for (const auto& table : {real_pairs(), integer_pairs()}) {
    for (const Packed& p : table) add_packed(out, arch, p);
  }
  add_moves(out, arch);
  return out;
}

}  // namespace gfx_test

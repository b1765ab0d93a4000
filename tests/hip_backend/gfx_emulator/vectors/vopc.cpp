// VOPC: comparisons of every type to VCC, to a scalar pair, and (v_cmpx) to EXEC.
#include "alu.hpp"
#include "families.hpp"
#include "reference.hpp"

namespace gfx_test {
namespace {

using mla::gfx::Arch;
using Relation = std::function<bool(u64, u64)>;

constexpr unsigned first = vgpr + 10, second = vgpr + 14, pair = 30, scalar = 20;

struct Comparison {
  std::string name;
  std::vector<Type> types;
  Relation holds;
  bool exec = false;  // v_cmpx
};

struct Form {
  std::string note;
  bool vop3 = false;
  unsigned neg = 0, abs = 0;
  u64 exec = ~u64{0};
  unsigned code = first;  // the first source
  u64 value = 0;          // of a scalar one
};

Vector make(const Op& op, const Comparison& c, const Form& form, const Operands& operands) {
  Vector out{.operation = op.name, .note = form.note};
  const unsigned target = form.vop3 ? pair : vcc;
  if (form.code == first) put_row(out.before, first, operands[0], size_of(c.types[0]));
  if (form.code == scalar) {
    out.before.s[scalar] = static_cast<u32>(form.value);
    out.before.s[scalar + 1] = static_cast<u32>(form.value >> 32);
  }
  put_row(out.before, second, operands[1], size_of(c.types[1]));
  out.before.exec = form.exec;
  out.before.s[target] = 0x12345678;
  out.before.s[target + 1] = 0x9abcdef0;
  out.words =
      form.vop3
          ? encode::vop3(
                op.number,
                {.dst = target, .src = {form.code, second, 0}, .neg = form.neg, .abs = form.abs})
          : encode::vopc(op.number, form.code, second);
  if (form.code == literal) out.words.push_back(static_cast<u32>(form.value));
  u64 bits = 0;
  for (unsigned l = 0; l < lanes; ++l) {
    u64 source[2] = {form.code == first ? operands[0][l] : form.value, operands[1][l]};
    for (unsigned k = 0; k < 2; ++k) {
      const unsigned size = 8 * size_of(c.types[k]);
      if (size < 64) source[k] &= (u64{1} << size) - 1;
      if (is_real(c.types[k])) {
        source[k] = signed_source(source[k], c.types[k], (form.abs >> k & 1) != 0,
                                  (form.neg >> k & 1) != 0);
      }
    }
    if ((form.exec >> l & 1) != 0 && c.holds(source[0], source[1])) bits |= u64{1} << l;
  }
  out.after = {expect_scalar(target, static_cast<u32>(bits)),
               expect_scalar(target + 1, static_cast<u32>(bits >> 32)),
               expect_flag(Expected::Where::exec, c.exec ? bits : form.exec)};
  return out;
}

void add_comparison(Vectors& out, Arch arch, const Comparison& c, std::vector<Operands> rows) {
  const Op op = find_op(arch, c.name);
  if (op.name.empty()) return;
  for (const Operands& row : rows) out.push_back(make(op, c, {.note = "registers"}, row));
  const Operands& last = rows.back();
  out.push_back(make(op, c, {.note = "part of EXEC", .exec = 0x8001f00f5555aaaa}, last));
  out.push_back(make(op, c, {.note = "VOP3", .vop3 = true, .exec = 0xaaaa5555}, last));
  const Type type = c.types[0];
  const u64 value = last[0][9];
  out.push_back(
      make(op, c, {.note = "scalar", .vop3 = true, .code = scalar, .value = value}, last));
  for (const unsigned code : {129U, 192U, 208U}) {
    out.push_back(
        make(op, c, {.note = "constant", .code = code, .value = inline_value(code, type)}, last));
  }
  if (size_of(type) != 8) {
    out.push_back(make(op, c, {.note = "literal", .code = literal, .value = value}, last));
  }
  if (!is_real(type)) return;
  for (const unsigned code : {240U, 245U}) {
    out.push_back(
        make(op, c, {.note = "constant", .code = code, .value = inline_value(code, type)}, last));
  }
  for (const unsigned bits : {1U, 2U, 3U}) {
    if (c.types[1] == Type::u32 && bits != 1) continue;
    out.push_back(make(op, c, {.note = "neg", .vop3 = true, .neg = bits}, last));
    out.push_back(make(op, c, {.note = "abs", .vop3 = true, .abs = bits}, last));
    out.push_back(make(op, c, {.note = "both", .vop3 = true, .neg = bits, .abs = bits}, last));
  }
}

void add_both(Vectors& out, Arch arch, const std::string& stem, const std::vector<Type>& types,
              const Relation& relation, const std::vector<Operands>& rows) {
  add_comparison(out, arch, {"v_cmp_" + stem, types, relation}, rows);
  add_comparison(out, arch, {"v_cmpx_" + stem, types, relation, true}, rows);
}

template <class T>
double number(u64 bits) {
  if constexpr (std::is_same_v<T, Half>) {
    return value_of(Half{static_cast<u16>(bits)});
  } else {
    return static_cast<double>(from_bits<T>(bits));
  }
}

// The sixteen relations of floating point: which of less, equal, greater and unordered they accept.
template <class T>
void add_reals(Vectors& out, Arch arch, const std::string& type) {
  static constexpr const char* const names[] = {"f",   "lt",  "eq",  "le",  "gt",  "lg",
                                                "ge",  "o",   "u",   "nge", "nlg", "ngt",
                                                "nle", "neq", "nlt", "tru"};
  const std::vector<Type> types = {type_of<T>(), type_of<T>()};
  const auto rows = operand_rows("compare " + type, types, {});
  for (unsigned accepted = 0; accepted < 16; ++accepted) {
    const Relation relation = [accepted](u64 a, u64 b) {
      const double x = number<T>(a), y = number<T>(b);
      const unsigned is = x < y ? 1 : x == y ? 2 : x > y ? 4 : 8;
      return (accepted & is) != 0;
    };
    add_both(out, arch, std::string(names[accepted]) + "_" + type, types, relation, rows);
  }
}

template <class T>
void add_integers(Vectors& out, Arch arch, const std::string& type) {
  static constexpr const char* const names[] = {"f", "lt", "eq", "le", "gt", "ne", "ge", "t"};
  const std::vector<Type> types = {type_of<T>(), type_of<T>()};
  const auto rows = operand_rows("compare " + type, types, {});
  for (unsigned accepted = 0; accepted < 8; ++accepted) {
    const Relation relation = [accepted](u64 a, u64 b) {
      const i128 x = from_bits<T>(a), y = from_bits<T>(b);
      return (accepted & (x < y ? 1 : x == y ? 2 : 4)) != 0;
    };
    add_both(out, arch, std::string(names[accepted]) + "_" + type, types, relation, rows);
  }
}

// Bits of the mask: signalling NaN, quiet NaN, -inf, -normal, -denormal, -0, +0, +denormal, ...
template <class T>
void add_class(Vectors& out, Arch arch, const std::string& type, double smallest_normal,
               unsigned quiet_bit) {
  const std::vector<Type> types = {type_of<T>(), Type::u32};
  auto rows = operand_rows("class " + type, types, {});
  for (std::size_t r = 0; r < rows.size(); r += 2) {
    for (unsigned l = 0; l < lanes; ++l) rows[r][1][l] = 1U << (l + r) % 10;
  }
  // Signalling NaNs of both signs.
  rows[0][0][5] = (edges(types[0]).back() & ~(u64{1} << quiet_bit)) | 1;
  rows[0][1][5] = 1;
  rows[0][0][6] = rows[0][0][5];
  rows[0][1][6] = 2;
  const Relation relation = [=](u64 a, u64 wanted) {
    const double x = number<T>(a);
    if (std::isnan(x)) return (wanted >> (a >> quiet_bit & 1) & 1) != 0;
    const double magnitude = std::abs(x);
    const unsigned kind = std::isinf(x)                  ? 0
                          : magnitude >= smallest_normal ? 1
                          : magnitude > 0                ? 2
                                                         : 3;
    return (wanted >> (std::signbit(x) ? 2 + kind : 9 - kind) & 1) != 0;
  };
  add_both(out, arch, "class_" + type, types, relation, rows);
}

}  // namespace

Vectors vopc_vectors(Arch arch) {
  Vectors out;
  add_reals<Half>(out, arch, "f16");
  add_reals<float>(out, arch, "f32");
  add_reals<double>(out, arch, "f64");
  add_integers<i16>(out, arch, "i16");
  add_integers<u16>(out, arch, "u16");
  add_integers<i32>(out, arch, "i32");
  add_integers<u32>(out, arch, "u32");
  add_integers<i64>(out, arch, "i64");
  add_integers<u64>(out, arch, "u64");
  add_class<Half>(out, arch, "f16", 0x1p-14, 9);
  add_class<float>(out, arch, "f32", 0x1p-126, 22);
  add_class<double>(out, arch, "f64", 0x1p-1022, 51);
  return out;
}

}  // namespace gfx_test

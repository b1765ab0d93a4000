#include "alu.hpp"

#include <algorithm>

namespace gfx_test {
namespace {

using mla::gfx::Arch;
using mla::gfx::Encoding;

constexpr std::array<unsigned, 3> source_registers = {vgpr + 10, vgpr + 14, vgpr + 18};
constexpr unsigned destination = vgpr + 22, scalar_pair = 20;
constexpr u32 flushing_f32 = 0x1c0, flushing_f64 = 0x130, nan_passes_clamp = 0x0f0;

// One way to encode and modify an operation.
struct Form {
  std::string note;
  bool vop3 = false;
  unsigned neg = 0, abs = 0, op_sel = 0, omod = 0;
  bool clamp = false;
  u64 exec = ~u64{0};
  u32 mode = State{}.mode;
  unsigned scalar_source = none, code = 0;  // source k is this scalar operand
  u64 scalar_value = 0;
  static constexpr unsigned none = 3;
};

// Which source stands in a literal of the encoding itself.
unsigned built_in_literal(const std::string& name) {
  if (name.starts_with("v_fmamk") || name.starts_with("v_madmk")) return 1;
  if (name.starts_with("v_fmaak") || name.starts_with("v_madak")) return 2;
  return Form::none;
}

bool accumulates(const Op& op) {
  return op.encoding == Encoding::vop2 && op.width[3] != 0 &&
         built_in_literal(op.name) == Form::none;
}

Words encoded(const Op& op, const Form& form, unsigned truth, std::array<unsigned, 3> src) {
  const unsigned base = op.encoding == Encoding::vop1   ? 0x140
                        : op.encoding == Encoding::vop2 ? 0x100
                                                        : 0;
  if (form.vop3 || base == 0) {
    if (op.width[2] == 0) src[1] = 0;
    if (op.width[3] == 0 || accumulates(op)) src[2] = 0;
    return encode::vop3(base + op.number, {.dst = destination,
                                           .src = src,
                                           .neg = form.neg | (truth & 7),
                                           .abs = form.abs | (truth >> 3 & 7),
                                           .op_sel = form.op_sel,
                                           .omod = form.omod | truth >> 6,
                                           .clamp = form.clamp});
  }
  Words words = op.encoding == Encoding::vop1
                    ? encode::vop1(op.number, destination, src[0])
                    : encode::vop2(op.number, destination, src[0],
                                   built_in_literal(op.name) == 1 ? src[2] : src[1]);
  const bool has_literal = src[0] == literal || built_in_literal(op.name) != Form::none;
  if (has_literal) words.push_back(static_cast<u32>(form.scalar_value));
  return words;
}

double clamped(double value, u32 mode) {
  if (std::isnan(value)) return (mode >> 8 & 1) != 0 ? 0 : value;
  return std::clamp(value, 0.0, 1.0) + 0.0;  // no negative zero
}

u64 modified_result(u64 bits, Type type, const Form& form) {
  if (!is_real(type) || (!form.clamp && form.omod == 0)) return bits;
  const bool keeps_denormals = (form.mode >> (type == Type::f32 ? 5 : 7) & 1) != 0;
  const double factor = form.omod == 0 || keeps_denormals ? 1
                        : form.omod == 1                  ? 2
                        : form.omod == 2                  ? 4
                                                          : 0.5;
  double value = type == Type::f16   ? value_of(Half{static_cast<u16>(bits)})
                 : type == Type::f32 ? static_cast<double>(float_of(static_cast<u32>(bits)))
                                     : double_of(bits);
  value *= factor;
  if (form.clamp) value = clamped(value, form.mode);
  if (type == Type::f16) return half_of(value).bits;
  return type == Type::f32 ? bits_of(static_cast<float>(value)) : bits_of(value);
}

Compare comparison(const Alu& alu, const Form& form) {
  if (alu.result == Type::f16 && (form.op_sel & 8) != 0) return Compare::two_f16;
  if (alu.options.compare != Compare::bits) return alu.options.compare;
  if (alu.result == Type::f16) return Compare::f16;
  if (alu.result == Type::f32) return Compare::f32;
  return alu.result == Type::f64 ? Compare::f64 : Compare::bits;
}

// Source `k` of a lane as the reference sees it: chosen half, abs, neg.
u64 source_value(const Alu& alu, const Form& form, unsigned k, u64 reg) {
  const Type type = alu.sources[k];
  if (form.scalar_source == k) reg = form.scalar_value;
  if (size_of(type) == 2) reg = ((form.op_sel >> k & 1) != 0 ? reg >> 16 : reg) & 0xffff;
  if (size_of(type) == 4) reg &= 0xffffffff;
  if (!is_real(type)) return reg;
  return signed_source(reg, type, (form.abs >> k & 1) != 0, (form.neg >> k & 1) != 0);
}

u64 placed(const Alu& alu, const Form& form, u64 value, u64 old) {
  if (size_of(alu.result) != 2) return value;
  value &= 0xffff;
  if ((form.op_sel & 8) != 0) return (old & 0xffff) | value << 16;
  return alu.options.keeps_high ? (old & 0xffff0000) | value : value;
}

Vector make(const Op& op, const Alu& alu, const Form& form, const Operands& operands) {
  Vector out{.operation = op.name, .note = form.note};
  const unsigned bytes = std::max(4U, size_of(alu.result));
  WideRow old = random_row(op.name + "old");
  const WideRow junk = random_row(op.name + "junk");
  std::array<unsigned, 3> src = source_registers;
  std::array<WideRow, 3> registers = operands;
  for (unsigned k = 0; k < alu.sources.size(); ++k) {
    if (size_of(alu.sources[k]) != 2) continue;
    // The half that is not chosen holds something else.
    const bool high = (form.op_sel >> k & 1) != 0;
    for (unsigned l = 0; l < lanes; ++l) {
      const u64 half = operands[k][l] & 0xffff, other = junk[l] >> (16 * k) & 0xffff;
      registers[k][l] = high ? half << 16 | other : half | other << 16;
    }
  }
  if (accumulates(op)) old = registers[2];
  for (unsigned k = 0; k < alu.sources.size(); ++k) {
    if (k == form.scalar_source) {
      src[k] = form.code;
    } else if (k != 2 || !accumulates(op)) {
      put_row(out.before, src[k], registers[k], std::max(4U, size_of(alu.sources[k])));
    }
  }
  if (form.code == scalar_pair) {
    out.before.s[scalar_pair] = static_cast<u32>(form.scalar_value);
    out.before.s[scalar_pair + 1] = static_cast<u32>(form.scalar_value >> 32);
  }
  put_row(out.before, destination, old, bytes);
  out.before.exec = form.exec;
  out.before.mode = form.mode;
  out.words = encoded(op, form, alu.options.truth, src);
  Expected result{
      .index = destination, .words = bytes / 4, .values = {}, .compare = comparison(alu, form)};
  for (unsigned l = 0; l < lanes; ++l) {
    std::array<u64, 3> value{};
    for (unsigned k = 0; k < alu.sources.size(); ++k) {
      const bool from_old = k == 2 && accumulates(op);
      value[k] = source_value(alu, form, k, from_old ? old[l] : registers[k][l]);
    }
    const bool saturates = form.clamp && alu.options.clamped != nullptr;
    const u64 plain = (saturates ? alu.options.clamped : alu.run)(value[0], value[1], value[2]);
    const u64 got = placed(alu, form, modified_result(plain, alu.result, form), old[l]);
    const u64 wanted = (form.exec >> l & 1) != 0 ? got : old[l];
    result.values[l] = bytes == 8 ? wanted : wanted & 0xffffffff;
  }
  out.after = {result};
  return out;
}

std::vector<unsigned> constants_for(Type type) {
  if (is_real(type)) return {128, 129, 192, 193, 208, 240, 243, 244, 247, 248};
  return {128, 129, 159, 192, 193, 208};
}

// Scalar registers, inline constants and literals in the place of each source that can have them.
void add_scalar_forms(Vectors& out, const Op& op, const Alu& alu, const Operands& operands) {
  const unsigned sources = static_cast<unsigned>(alu.sources.size()) - (accumulates(op) ? 1 : 0);
  for (unsigned k = 0; k < sources; ++k) {
    const bool vop3 = op.encoding == Encoding::vop3 || k > 0;
    const Type type = alu.sources[k];
    const auto add = [&](const char* note, unsigned code, u64 value) {
      out.push_back(make(
          op, alu,
          {.note = note, .vop3 = vop3, .scalar_source = k, .code = code, .scalar_value = value},
          operands));
    };
    const u64 value = operands[k][7];
    add("scalar register", scalar_pair, value);
    if (alu.options.only.empty()) {
      for (const unsigned code : constants_for(type)) {
        add("inline constant", code, inline_value(code, type));
      }
    }
    if (vop3 || type == Type::f64) continue;
    const u64 word = value & (size_of(type) == 2 ? 0xffff : 0xffffffff);
    add("literal", literal, literal_value(static_cast<u32>(word), type));
  }
}

// Ordinary numbers: no result is near a limit.
Operands ordinary(const Alu& alu, const Operands& operands) {
  Operands out = operands;
  for (std::size_t k = 0; k < alu.sources.size(); ++k) {
    const WideRow bits = random_row(alu.name + std::to_string(k));
    for (unsigned l = 0; l < lanes; ++l) {
      const double value =
          static_cast<double>(static_cast<i64>(bits[l] >> 40) - (1 << 23)) / 0x1p21;
      if (alu.sources[k] == Type::f32) out[k][l] = bits_of(static_cast<float>(value));
      if (alu.sources[k] == Type::f64) out[k][l] = bits_of(value);
      if (size_of(alu.sources[k]) == 2) out[k][l] = 0x3f80 + bits[l] % 64;
    }
  }
  return out;
}

void add_modified_forms(Vectors& out, const Op& op, const Alu& alu, const Operands& operands) {
  unsigned reals = 0;
  for (unsigned k = 0; k < alu.sources.size(); ++k) reals |= is_real(alu.sources[k]) ? 1U << k : 0;
  if (accumulates(op)) reals &= 3;
  const bool modifiers = alu.options.modifiers;
  for (const auto& [neg, abs] :
       {std::pair{1U, 0U}, {2U, 0U}, {4U, 0U}, {0U, 1U}, {0U, 2U}, {0U, 4U}, {5U, 3U}, {7U, 7U}}) {
    if (!modifiers || ((neg | abs) & reals) == 0) continue;
    out.push_back(
        make(op, alu, {.note = "neg and abs", .vop3 = true, .neg = neg & reals, .abs = abs & reals},
             operands));
  }
  if (alu.options.clamped) {
    out.push_back(make(op, alu, {.note = "clamp", .vop3 = true, .clamp = true}, operands));
  }
  if (!modifiers || !alu.options.result_modifiers || !is_real(alu.result)) return;
  out.push_back(make(op, alu, {.note = "clamp", .vop3 = true, .clamp = true}, operands));
  out.push_back(make(
      op, alu, {.note = "clamp with NaN", .vop3 = true, .clamp = true, .mode = nan_passes_clamp},
      operands));
  if (alu.result == Type::f16 || !alu.options.only.empty()) return;
  const Operands plain = ordinary(alu, operands);
  for (unsigned omod = 1; omod < 4; ++omod) {
    out.push_back(make(op, alu,
                       {.note = "omod",
                        .vop3 = true,
                        .omod = omod,
                        .clamp = omod == 3,
                        .mode = alu.result == Type::f32 ? flushing_f32 : flushing_f64},
                       plain));
  }
  out.push_back(make(op, alu, {.note = "omod with denormals", .vop3 = true, .omod = 1}, plain));
}

}  // namespace

void add_vectors(Vectors& out, Arch arch, const Alu& alu) {
  const Op op = find_op(arch, alu.name);
  if (op.name.empty()) return;
  const auto rows = operand_rows(alu.name, alu.sources, alu.options.only);
  const unsigned built_in = built_in_literal(alu.name);
  for (const Operands& row : rows) {
    if (built_in == Form::none) {
      out.push_back(make(op, alu, {.note = "registers"}, row));
    } else {
      out.push_back(make(op, alu,
                         {.note = "literal",
                          .scalar_source = built_in,
                          .code = literal,
                          .scalar_value = row[built_in][5]},
                         row));
    }
  }
  if (built_in != Form::none) return;
  const Operands& last = rows.back();
  out.push_back(make(op, alu, {.note = "part of EXEC", .exec = 0x8001f00f5555aaaa}, last));
  if (op.encoding != Encoding::vop3) {
    out.push_back(make(op, alu, {.note = "VOP3", .vop3 = true}, last));
  }
  add_scalar_forms(out, op, alu, last);
  add_modified_forms(out, op, alu, last);
  if (alu.options.op_sel) {
    unsigned halves = size_of(alu.result) == 2 ? 8 : 0;
    for (unsigned k = 0; k < alu.sources.size(); ++k) {
      halves |= size_of(alu.sources[k]) == 2 ? 1U << k : 0;
    }
    for (unsigned op_sel = 1; op_sel < 16; ++op_sel) {
      if ((op_sel & ~halves) != 0) continue;
      out.push_back(make(op, alu, {.note = "op_sel", .vop3 = true, .op_sel = op_sel}, last));
    }
  }
}

Vectors vectors_of(Arch arch, const std::vector<Alu>& table) {
  Vectors out;
  for (const Alu& alu : table) add_vectors(out, arch, alu);
  return out;
}

}  // namespace gfx_test

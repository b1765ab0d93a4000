// Dot products (VOP3P and their accumulating forms in VOP2), and mixed multiply-adds.
#include "alu.hpp"
#include "families.hpp"
#include "reference.hpp"

namespace gfx_test {
namespace {

using namespace reference;
using mla::gfx::Arch;
using mla::gfx::Encoding;

constexpr std::array<unsigned, 3> sources = {vgpr + 10, vgpr + 14, vgpr + 18};
constexpr unsigned destination = vgpr + 22;

struct Form {
  std::string note;
  encode::Vop3p fields = {};
  u64 exec = ~u64{0};
  std::array<unsigned, 3> constant = {};  // inline constants in the place of registers
};

// A result of 32 bits from three sources and the old destination.
using Run = std::function<u32(const std::array<u32, 3>&, u32 old, const encode::Vop3p&)>;

Vector make(const Op& op, const Form& form, const Operands& operands, Compare compare,
            const Run& run) {
  Vector out{.operation = op.name, .note = form.note};
  const bool accumulates = op.encoding == Encoding::vop2;
  const WideRow old = accumulates ? operands[2] : random_row(op.name + "old");
  encode::Vop3p fields = form.fields;
  fields.dst = destination;
  for (unsigned k = 0; k < 3; ++k) {
    const bool constant = form.constant[k] != 0;
    fields.src[k] = constant ? form.constant[k] : sources[k];
    if (!constant) put_row(out.before, sources[k], operands[k], 4);
  }
  put_row(out.before, destination, old, 4);
  out.before.exec = form.exec;
  out.words = accumulates ? encode::vop2(op.number, destination, sources[0], sources[1])
                          : encode::vop3p(op.number, fields);
  Expected result{.index = destination, .values = {}, .compare = compare};
  for (unsigned l = 0; l < lanes; ++l) {
    std::array<u32, 3> in{};
    for (unsigned k = 0; k < 3; ++k) in[k] = static_cast<u32>(operands[k][l]);
    const auto was = static_cast<u32>(old[l]);
    result.values[l] = (form.exec >> l & 1) != 0 ? run(in, was, fields) : was;
  }
  out.after = {result};
  return out;
}

i64 product_sum(u32 a, u32 b, unsigned bits, bool is_signed) {
  i64 sum = 0;
  for (unsigned k = 0; k < 32; k += bits) {
    const u32 x = a >> k & ((1U << bits) - 1), y = b >> k & ((1U << bits) - 1);
    sum += is_signed ? i64{sign_extended(x, bits)} * sign_extended(y, bits)
                     : static_cast<i64>(u64{x} * y);
  }
  return sum;
}

void add_integer_dot(Vectors& out, Arch arch, const std::string& name, unsigned bits,
                     bool is_signed) {
  const Op op = find_op(arch, name);
  const Run run = [=](const std::array<u32, 3>& in, u32, const encode::Vop3p& fields) {
    const i64 addend = is_signed ? i64{static_cast<i32>(in[2])} : i64{in[2]};
    const i64 sum = product_sum(in[0], in[1], bits, is_signed) + addend;
    if (!fields.clamp) return static_cast<u32>(sum);
    return is_signed ? static_cast<u32>(limited_whole<i32>(sum)) : limited_whole<u32>(sum);
  };
  const auto rows = operand_rows(name, {Type::u32, Type::u32, Type::u32}, {});
  for (const Operands& row : rows) {
    out.push_back(make(op, {.note = "registers"}, row, Compare::bits, run));
  }
  const Operands& last = rows.back();
  out.push_back(
      make(op, {.note = "part of EXEC", .exec = 0xff00ff1234567890}, last, Compare::bits, run));
  if (op.encoding == Encoding::vop2) return;
  out.push_back(make(op, {.note = "clamp", .fields = {.clamp = true}}, last, Compare::bits, run));
}

// Small numbers, so that the order of the sums does not matter.
void add_float_dot(Vectors& out, Arch arch, const std::string& name, bool brain) {
  const Op op = find_op(arch, name);
  if (op.name.empty()) return;
  std::vector<u64> values;
  for (const double x : {0.0, 1.0, -1.5, 0.25, 3.0, -8.0, 100.0}) {
    const u64 bits = brain ? brain_of(x) : half_of(x).bits;
    values.push_back(bits);
    values.push_back(bits << 16);
    values.push_back(bits << 16 | (brain ? brain_of(x + 2) : half_of(x + 2).bits));
  }
  Operands row = operand_rows(name, {Type::u32, Type::u32}, values).front();
  for (unsigned l = 0; l < lanes; ++l) row[2][l] = bits_of(static_cast<float>(l) * 0.75F - 20);
  const auto number = [brain](u32 bits) {
    return brain ? brain_value(bits) : value_of(Half{static_cast<u16>(bits)});
  };
  const Run run = [=](const std::array<u32, 3>& in, u32, const encode::Vop3p& fields) {
    double sum = static_cast<double>(float_of(in[2]));
    for (const unsigned shift : {0U, 16U}) {
      sum += number(in[0] >> shift & 0xffff) * number(in[1] >> shift & 0xffff);
    }
    if (fields.clamp) sum = std::clamp(sum, 0.0, 1.0);
    return bits_of(static_cast<float>(sum));
  };
  out.push_back(make(op, {.note = "registers"}, row, Compare::f32, run));
  out.push_back(
      make(op, {.note = "part of EXEC", .exec = 0xff00ff1234567890}, row, Compare::f32, run));
  if (op.encoding == Encoding::vop2) return;
  out.push_back(make(op, {.note = "clamp", .fields = {.clamp = true}}, row, Compare::f32, run));
}

enum class Part : std::uint8_t { whole, low, high };

// v_fma_mix: op_sel_hi says which sources are f16, op_sel which half; neg_hi is abs.
void add_mixed(Vectors& out, Arch arch, const std::string& name, Part part) {
  const Op op = find_op(arch, name);
  const Run run = [part](const std::array<u32, 3>& in, u32 old, const encode::Vop3p& fields) {
    double value[3];
    for (unsigned k = 0; k < 3; ++k) {
      const bool half = (fields.op_sel_hi >> k & 1) != 0;
      const u32 bits = (fields.op_sel >> k & 1) != 0 ? in[k] >> 16 : in[k] & 0xffff;
      value[k] =
          half ? value_of(Half{static_cast<u16>(bits)}) : static_cast<double>(float_of(in[k]));
      if ((fields.neg_hi >> k & 1) != 0) value[k] = std::abs(value[k]);
      if ((fields.neg >> k & 1) != 0) value[k] = -value[k];
    }
    float sum = std::fma(static_cast<float>(value[0]), static_cast<float>(value[1]),
                         static_cast<float>(value[2]));
    if (fields.clamp) sum = std::isnan(sum) ? 0 : std::clamp(sum, 0.0F, 1.0F) + 0.0F;
    if (part == Part::whole) return bits_of(sum);
    const u32 half = half_of(static_cast<double>(sum)).bits;
    return part == Part::low ? (old & 0xffff0000) | half : (old & 0xffff) | half << 16;
  };
  const Compare compare = part == Part::whole ? Compare::f32 : Compare::two_f16;
  const auto singles = operand_rows(name, {Type::f32, Type::f32, Type::f32}, {});
  auto halves = operand_rows(name + "halves", {Type::f16, Type::f16, Type::f16}, {});
  for (Operands& row : halves) {
    for (unsigned k = 0; k < 3; ++k) {
      for (unsigned l = 0; l < lanes; ++l) row[k][l] |= row[k][(l + 7) % lanes] << 16;
    }
  }
  for (const Operands& row : singles) {
    out.push_back(make(op, {.note = "f32", .fields = {.op_sel_hi = 0}}, row, compare, run));
  }
  for (const Operands& row : halves) {
    out.push_back(make(op, {.note = "f16", .fields = {.op_sel_hi = 7}}, row, compare, run));
  }
  const auto add = [&](const char* note, const encode::Vop3p& fields) {
    Operands mixed = halves.front();
    for (unsigned k = 0; k < 3; ++k) {
      if ((fields.op_sel_hi >> k & 1) == 0) mixed[k] = singles.front()[k];
    }
    out.push_back(make(op, {.note = note, .fields = fields, .exec = 0xfffffffffff0f0ff}, mixed,
                       compare, run));
  };
  for (unsigned bits = 1; bits < 7; ++bits) {
    add("mixed", {.op_sel_hi = bits});
    add("halves", {.op_sel = bits, .op_sel_hi = 7});
    add("neg", {.neg = bits, .op_sel_hi = 5});
    add("abs", {.neg_hi = bits, .op_sel_hi = 2});
  }
  add("all", {.neg = 3, .neg_hi = 6, .op_sel = 1, .op_sel_hi = 3, .clamp = true});
}

}  // namespace

Vectors dot_vectors(Arch arch) {
  Vectors out;
  add_integer_dot(out, arch, "v_dot2_i32_i16", 16, true);
  add_integer_dot(out, arch, "v_dot2_u32_u16", 16, false);
  add_integer_dot(out, arch, "v_dot4_i32_i8", 8, true);
  add_integer_dot(out, arch, "v_dot4_u32_u8", 8, false);
  add_integer_dot(out, arch, "v_dot8_i32_i4", 4, true);
  add_integer_dot(out, arch, "v_dot8_u32_u4", 4, false);
  add_integer_dot(out, arch, "v_dot2c_i32_i16", 16, true);
  add_integer_dot(out, arch, "v_dot4c_i32_i8", 8, true);
  add_integer_dot(out, arch, "v_dot8c_i32_i4", 4, true);
  add_float_dot(out, arch, "v_dot2_f32_f16", false);
  add_float_dot(out, arch, "v_dot2_f32_bf16", true);
  add_float_dot(out, arch, "v_dot2c_f32_f16", false);
  add_float_dot(out, arch, "v_dot2c_f32_bf16", true);
  add_mixed(out, arch, "v_fma_mix_f32", Part::whole);
  add_mixed(out, arch, "v_fma_mixlo_f16", Part::low);
  add_mixed(out, arch, "v_fma_mixhi_f16", Part::high);
  return out;
}

}  // namespace gfx_test

// SOP1, SOP2, SOPK and SOPC: results, SCC, and EXEC where an operation changes it.
#include "sop.hpp"

#include "families.hpp"

namespace gfx_test {
namespace {

using mla::gfx::Arch;
using mla::gfx::Encoding;

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
  Vector out{.operation = op.name, .note = "values"};
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
    const u64 value = code == literal ? literal_value(0x87654321, type) : inline_value(code, type);
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

}  // namespace

Vectors sop_vectors(Arch arch) {
  Vectors out;
  for (const auto& table : {sop1_table(), sop2_table()}) {
    for (const Sop& sop : table) add_sop(out, arch, sop);
  }
  return out;
}

}  // namespace gfx_test

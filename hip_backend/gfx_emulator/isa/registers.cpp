#include "hip_backend/gfx_emulator/isa/registers.hpp"

#include <algorithm>

namespace mla::gfx {
namespace {

constexpr unsigned scalar_end = 128, vector_end = code::agpr, accumulator_end = 768;

// Numbers, apertures, condition bits and the literal; what lies between them has no meaning.
bool is_constant(unsigned operand) {
  return (operand <= 208) || (operand >= code::shared_base && operand <= code::private_limit) ||
         (operand >= 240 && operand <= 248) || (operand >= code::vccz && operand <= code::scc) ||
         operand == code::literal;
}

bool exists(unsigned operand, unsigned width) {
  if (operand == code::none) return true;
  if (operand >= scalar_end && operand < code::vgpr) return is_constant(operand);
  const unsigned end = operand < scalar_end   ? scalar_end
                       : operand < vector_end ? vector_end
                                              : accumulator_end;
  return operand + std::max(1U, width) <= end;
}

}  // namespace

unsigned source_width(const Inst& inst, unsigned k) {
  const bool base = k == 2 && is_vector_memory(inst.kind);
  if (base) return inst.kind == Class::buffer ? 4 : inst.kind == Class::scratch ? 1 : 2;
  // The addend of a sparse matrix instruction; with `sdst` it is a scale of v_mfma_scale.
  if (k == 3 && inst.kind == Class::mfma && inst.sdst == code::none) return inst.width[0];
  if (k == 3) return 1;
  if (k == 2 && inst.src[2] < scalar_end && inst.width[3] == 0) return 2;  // a carry or a selection
  return inst.width[k + 1];
}

UsedPart used_part(const Inst& inst, unsigned k) {
  const unsigned width = source_width(inst, k);
  const bool pair = inst.kind == Class::packed && inst.width[0] == 2 && k < 3 && width == 2;
  const unsigned low = inst.op_sel >> k & 1, high = inst.op_sel_hi >> k & 1;
  if (!pair || low != high) return {0, width};
  return {low, 1};
}

bool registers_exist(const Inst& inst) {
  if (!exists(inst.dst, inst.width[0])) return false;
  for (unsigned k = 0; k < inst.src.size(); ++k) {
    if (!exists(inst.src[k], source_width(inst, k))) return false;
  }
  return true;
}

}  // namespace mla::gfx

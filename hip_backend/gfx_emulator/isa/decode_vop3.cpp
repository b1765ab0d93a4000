// VOP3 (with the VOPC, VOP2 and VOP1 numbers it takes over), VOP3P and the matrix instructions.
#include "hip_backend/gfx_emulator/isa/decode.hpp"

namespace mla::gfx::parts {
namespace {

std::uint8_t small(std::uint32_t word, unsigned low, unsigned bits) {
  return static_cast<std::uint8_t>(field(word, low, bits));
}

void take_sources(std::uint32_t word, Inst& inst) {
  for (unsigned k = 0; k < 3; ++k) {
    if (inst.width[k + 1] != 0) inst.src[k] = field(word, 9 * k, 9);
  }
}

bool take_promoted(const Operations& operations, unsigned op, Inst& inst) {
  if (op < 0x100) return take(operations, Encoding::vopc, op, inst);
  if (op < 0x140) return take(operations, Encoding::vop2, op - 0x100, inst);
  if (op < 0x1c0) return take(operations, Encoding::vop1, op - 0x140, inst);
  return take(operations, Encoding::vop3, op, inst);
}

// A register of 16 values per dword of fp6 or fp4 is narrower than the row says.
std::uint8_t f8f6f4_width(unsigned format) {
  return format == 2 || format == 3 ? 6 : format == 4 ? 4 : 8;
}

bool matrix(const Operations& operations, Words words, Inst& inst) {
  const std::uint32_t word = words[0], second = words[1];
  inst.dst = static_cast<std::uint16_t>(field(word, 0, 8) + code::vgpr);
  take_sources(second, inst);
  const Operation& operation = operations.at(inst.op);
  if (operation.has(traits::from_accumulator)) {
    if (inst.src[0] < code::vgpr) return false;
    inst.src[0] = static_cast<std::uint16_t>(inst.src[0] + 256);
    return true;
  }
  if (operation.has(traits::to_accumulator)) {
    inst.dst = static_cast<std::uint16_t>(inst.dst + 256);
    return true;
  }
  if ((word >> 15 & 1) != 0) {
    inst.dst = static_cast<std::uint16_t>(inst.dst + 256);
    // The indices of a sparse matrix lie in a plain register.
    const bool accumulates = inst.src[2] >= code::vgpr && !operation.has(traits::sparse);
    if (accumulates) inst.src[2] = static_cast<std::uint16_t>(inst.src[2] + 256);
  }
  for (unsigned k = 0; k < 2; ++k) {
    if (inst.src[k] < code::vgpr) return false;
    if ((second >> (27 + k) & 1) != 0) inst.src[k] = static_cast<std::uint16_t>(inst.src[k] + 256);
  }
  // The addend, which the encoding does not name.
  if (operation.has(traits::sparse)) inst.src[3] = inst.dst;
  inst.cbsz = field(word, 8, 3) & 7;
  inst.abid = field(word, 11, 4) & 15;
  inst.blgp = field(second, 29, 3) & 7;
  if (operation.has(traits::chosen_formats)) {
    inst.abid = 0;
    inst.width[1] = f8f6f4_width(inst.cbsz);
    inst.width[2] = f8f6f4_width(inst.blgp);
  }
  return true;
}

// v_mfma_scale: a prefix of two words names the scales, the matrix instruction follows and says
// with a bit of abid that it takes them.
bool scaled_matrix(const Operations& operations, Words words, Inst& inst) {
  if (words.size() < 4 || words[2] >> 16 < 0xd3ad || words[2] >> 16 > 0xd3ae) return false;
  if ((words[2] >> 11 & 1) == 0) return false;
  if (!take(operations, Encoding::vop3p, field(words[2], 16, 7), inst)) return false;
  if (!matrix(operations, words.subspan(2), inst)) return false;
  inst.words = 4;
  inst.src[3] = field(words[1], 0, 9);
  inst.sdst = field(words[1], 9, 9);
  inst.op_sel = small(words[0], 11, 2);
  inst.op_sel_hi = small(words[1], 27, 2);
  return true;
}

bool vop3p(const Operations& operations, Words words, Inst& inst) {
  const std::uint32_t word = words[0], second = words[1];
  const unsigned op = field(word, 16, 7);
  inst.words = 2;
  if (op == 0x2c) return scaled_matrix(operations, words, inst);
  if (!take(operations, Encoding::vop3p, op, inst)) return false;
  if (inst.kind == Class::mfma || inst.kind == Class::accumulator_move) {
    return matrix(operations, words, inst);
  }
  inst.dst = static_cast<std::uint16_t>(field(word, 0, 8) + code::vgpr);
  take_sources(second, inst);
  inst.abs = small(word, 8, 3);
  inst.op_sel = small(word, 11, 3);
  inst.clamp = (word >> 15 & 1) != 0;
  inst.op_sel_hi = static_cast<std::uint8_t>(field(second, 27, 2) | (word >> 14 & 1) << 2);
  inst.neg = small(second, 29, 3);
  inst.post = inst.clamp;
  // Each source of v_pk_mov_b32 gives one half, and op_sel alone says which.
  if (operations.at(inst.op).has(traits::one_half_each)) inst.op_sel_hi = inst.op_sel;
  return true;
}

void take_destination(const Operations& operations, std::uint32_t word, Inst& inst) {
  const Operation& operation = operations.at(inst.op);
  const std::uint16_t low = field(word, 0, 8);
  if (operation.encoding == Encoding::vopc) {
    inst.sdst = low;
  } else if (inst.width[0] != 0) {
    const bool to_scalar = operation.has(traits::scalar_result);
    inst.dst = static_cast<std::uint16_t>(low + (to_scalar ? 0 : code::vgpr));
  }
}

// Sources of several numbers are registers (LLVM: VReg_64_Align2 to VReg_1024_Align2).
bool wide_sources_are_registers(const Inst& inst) {
  for (unsigned k = 0; k < 3; ++k) {
    if (inst.width[k + 1] > 1 && inst.src[k] < code::vgpr) return false;
  }
  return true;
}

}  // namespace

bool vop3(const Operations& operations, Words words, Inst& inst) {
  const std::uint32_t word = words[0], second = words[1];
  if (word >> 23 == 0x1a7) {
    if (!vop3p(operations, words, inst)) return false;
    inst.is_vector = inst.kind != Class::mfma;
    mark_sources(inst);
    return true;
  }
  if (!take_promoted(operations, field(word, 16, 10), inst)) return false;
  inst.words = 2;
  inst.is_vector = true;
  const Operation& operation = operations.at(inst.op);
  take_destination(operations, word, inst);
  take_sources(second, inst);
  // Four addends of 32 bits are registers (LLVM: VRegSrc_128).
  if (operation.has(traits::wide_addend) && inst.src[2] < code::vgpr) return false;
  if (operation.has(traits::wide_sources) && !wide_sources_are_registers(inst)) return false;
  if (operation.has(traits::swaps) && inst.src[0] < code::vgpr) return false;
  if (operation.has(traits::lane_mask_in)) {
    inst.src[2] = field(second, 18, 9);
    if (inst.src[2] >= code::vgpr) return false;  // a bit for each lane, in scalars
  } else if ((operation.encoding == Encoding::vop2 && inst.width[3] != 0) ||
             operation.has(traits::accumulates)) {
    inst.src[2] = inst.dst;  // an accumulator; of v_cvt_pkaccum_u8_f32 three bytes stay
  }
  inst.clamp = (word >> 15 & 1) != 0;
  if (operation.has(traits::carry_out)) {
    inst.sdst = field(word, 8, 7);
  } else {
    inst.abs = small(word, 8, 3);
    inst.op_sel = small(word, 11, 4);
  }
  inst.omod = field(second, 27, 2) & 3;
  inst.neg = small(second, 29, 3);
  inst.post = inst.clamp || inst.omod != 0 || (inst.op_sel & 8) != 0;
  // v_bitop3 keeps its truth table where the others keep abs, neg and omod.
  if (operation.has(traits::truth_table)) {
    inst.imm = inst.neg | inst.abs << 3 | inst.omod << 6;
    inst.abs = inst.neg = inst.omod = 0;
    inst.post = (inst.op_sel & 8) != 0;
  }
  mark_sources(inst);
  return true;
}

}  // namespace mla::gfx::parts

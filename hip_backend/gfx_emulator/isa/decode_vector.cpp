// VOP1, VOP2 and VOPC with their literal, SDWA and DPP forms.
#include <algorithm>

#include "hip_backend/gfx_emulator/isa/decode.hpp"
#include "hip_backend/gfx_emulator/isa/dpp.hpp"

namespace mla::gfx::parts {
namespace {

constexpr std::uint16_t sdwa_marker = 249, dpp_marker = 250;

std::uint8_t bit(std::uint32_t word, unsigned at, unsigned to) {
  return static_cast<std::uint8_t>((word >> at & 1) << to);
}

// The second word of SDWA: which bytes of the sources, of the destination; VOPC: where to.
void take_sdwa(std::uint32_t word, bool compare, Inst& inst) {
  inst.sdwa = true;
  inst.src[0] = static_cast<std::uint16_t>(field(word, 0, 8) + (word >> 23 & 1 ? 0 : code::vgpr));
  if (inst.width[2] != 0 && (word >> 31 & 1) != 0) {
    inst.src[1] = static_cast<std::uint16_t>(inst.src[1] - code::vgpr);
  }
  if (compare) {
    if ((word >> 15 & 1) != 0) inst.sdst = field(word, 8, 7);
  } else {
    inst.dst_sel = field(word, 8, 3) & 7;
    inst.dst_unused = field(word, 11, 2) & 3;
    inst.clamp = (word >> 13 & 1) != 0;
    inst.omod = field(word, 14, 2) & 3;
    inst.post = inst.dst_sel != 6 || inst.clamp || inst.omod != 0;
  }
  inst.sel = {static_cast<std::uint8_t>(field(word, 16, 3)),
              static_cast<std::uint8_t>(field(word, 24, 3))};
  inst.sext0 = (word >> 19 & 1) != 0;
  inst.sext1 = (word >> 27 & 1) != 0;
  inst.neg = bit(word, 20, 0) | bit(word, 28, 1);
  inst.abs = bit(word, 21, 0) | bit(word, 29, 1);
}

void take_dpp(std::uint32_t word, Inst& inst) {
  inst.dpp = true;
  inst.src[0] = static_cast<std::uint16_t>(field(word, 0, 8) + code::vgpr);
  inst.dpp_ctrl = field(word, 8, 9);
  inst.bound_ctrl = (word >> 19 & 1) != 0;
  inst.neg = bit(word, 20, 0) | bit(word, 22, 1);
  inst.abs = bit(word, 21, 0) | bit(word, 23, 1);
  inst.bank_mask = static_cast<std::uint8_t>(field(word, 24, 4));
  inst.row_mask = static_cast<std::uint8_t>(field(word, 28, 4));
  inst.post = dpp_lanes(inst) != ~std::uint64_t{0};
}

bool take_extension(Words words, bool compare, Inst& inst) {
  if (inst.src[0] != sdwa_marker && inst.src[0] != dpp_marker) return take_literal(words, inst);
  if (words.size() < 2) return false;
  inst.words = 2;
  inst.literal = words[1];
  if (inst.src[0] == sdwa_marker) {
    take_sdwa(words[1], compare, inst);
  } else {
    take_dpp(words[1], inst);
    // 64 bits of a lane: only row_newbcast (LLVM, isLegalDPALU_DPPControl).
    const bool wide = std::ranges::count(inst.width, 2) != 0;
    if (wide && !is_row_broadcast(inst.dpp_ctrl)) return false;
  }
  return true;
}

bool vop1(const Operations& operations, Words words, Inst& inst) {
  const std::uint32_t word = words[0];
  if (!take(operations, Encoding::vop1, field(word, 9, 8), inst)) return false;
  const Operation& operation = operations.at(inst.op);
  const bool to_scalar = operation.has(traits::scalar_result);
  const bool accumulator = operation.has(traits::from_accumulator);
  if (inst.width[0] != 0) {
    inst.dst = static_cast<std::uint16_t>(field(word, 17, 8) + (to_scalar ? 0 : code::vgpr) +
                                          (accumulator ? 256 : 0));
  }
  inst.src[0] = static_cast<std::uint16_t>(field(word, 0, 9) + (accumulator ? 256 : 0));
  if (!take_extension(words, false, inst)) return false;
  if (inst.width[1] == 0) inst.src[0] = code::none;  // v_nop may have an extension too
  // What changes places must be two registers, and an accumulation register is no number.
  return !(operation.has(traits::swaps) || accumulator) ||
         inst.src[0] >= (accumulator ? code::agpr : code::vgpr);
}

bool vop2(const Operations& operations, Words words, Inst& inst) {
  const std::uint32_t word = words[0];
  if (!take(operations, Encoding::vop2, field(word, 25, 6), inst)) return false;
  const Operation& operation = operations.at(inst.op);
  inst.dst = static_cast<std::uint16_t>(field(word, 17, 8) + code::vgpr);
  inst.src[0] = field(word, 0, 9);
  inst.src[1] = static_cast<std::uint16_t>(field(word, 9, 8) + code::vgpr);
  if (operation.has(traits::literal_second)) {
    inst.src[2] = inst.src[1];
    inst.src[1] = code::literal;
  } else if (operation.has(traits::literal_third)) {
    inst.src[2] = code::literal;
  } else if (inst.width[3] != 0) {
    inst.src[2] = inst.dst;  // the accumulator
  }
  if (operation.has(traits::carry_out)) inst.sdst = code::vcc;
  if (operation.has(traits::lane_mask_in)) inst.src[2] = code::vcc;
  return take_extension(words, false, inst);
}

}  // namespace

bool vector(const Operations& operations, Words words, Inst& inst) {
  const std::uint32_t word = words[0];
  inst.is_vector = true;
  const unsigned op = word >> 25;
  if (op == 0x3f) {
    if (!vop1(operations, words, inst)) return false;
  } else if (op == 0x3e) {
    if (!take(operations, Encoding::vopc, field(word, 17, 8), inst)) return false;
    inst.sdst = code::vcc;
    inst.src[0] = field(word, 0, 9);
    inst.src[1] = static_cast<std::uint16_t>(field(word, 9, 8) + code::vgpr);
    if (!take_extension(words, true, inst)) return false;
  } else if (!vop2(operations, words, inst)) {
    return false;
  }
  mark_sources(inst);
  return true;
}

}  // namespace mla::gfx::parts

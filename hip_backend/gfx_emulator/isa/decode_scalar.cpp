// SOP1, SOP2, SOPK, SOPC, SOPP and SMEM.
#include "hip_backend/gfx_emulator/isa/decode.hpp"

namespace mla::gfx::parts {
namespace {

std::uint16_t if_read(const Inst& inst, unsigned k, std::uint16_t source) {
  return inst.width[k + 1] != 0 ? source : code::none;
}

bool sopk(const Operations& operations, Words words, Inst& inst) {
  const std::uint32_t word = words[0];
  if (!take(operations, Encoding::sopk, field(word, 23, 5), inst)) return false;
  inst.imm = static_cast<std::int16_t>(word & 0xffff);
  if (inst.width[0] != 0) inst.dst = field(word, 16, 7);
  inst.src[0] = if_read(inst, 0, field(word, 16, 7));
  if (operations.at(inst.op).has(traits::literal_only)) {
    if (words.size() < 2) return false;
    inst.src[0] = code::literal;
    inst.literal = words[1];
    inst.words = 2;
  }
  return true;
}

bool smem(const Operations& operations, Words words, Inst& inst) {
  if (words.size() < 2) return false;
  const std::uint32_t word = words[0];
  if (!take(operations, Encoding::smem, field(word, 18, 8), inst)) return false;
  inst.words = 2;
  if (inst.width[0] != 0) inst.dst = field(word, 6, 7);
  inst.src[0] = if_read(inst, 0, static_cast<std::uint16_t>(field(word, 0, 6) * 2));
  if (inst.width[1] == 0) return true;  // clocks and caches: no address
  inst.glc = field(word, 16, 1) != 0;
  const bool immediate = field(word, 17, 1) != 0, soffset = field(word, 14, 1) != 0;
  if (immediate) inst.imm = static_cast<std::int32_t>(words[1] << 11) >> 11;
  if (soffset) {
    inst.src[1] = field(words[1], 25, 7);
  } else if (!immediate) {
    inst.src[1] = field(words[1], 0, 7);
  }
  return true;
}

}  // namespace

bool scalar(const Operations& operations, Words words, Inst& inst) {
  const std::uint32_t word = words[0];
  if (word >> 26 == 0x30) return smem(operations, words, inst);
  if (word >> 23 == 0x17f) {
    if (!take(operations, Encoding::sopp, field(word, 16, 7), inst)) return false;
    inst.imm = static_cast<std::int16_t>(word & 0xffff);
    return true;
  }
  if (word >> 23 == 0x17e) {
    if (!take(operations, Encoding::sopc, field(word, 16, 7), inst)) return false;
    inst.src[0] = field(word, 0, 8);
    // s_set_gpr_idx_on carries its four mode bits in the place of the second source.
    if (operations.at(inst.op).has(traits::index_on)) {
      inst.imm = field(word, 8, 8);
      inst.width[2] = 0;
      return take_literal(words, inst);
    }
    inst.src[1] = field(word, 8, 8);
    return take_literal(words, inst);
  }
  if (word >> 23 == 0x17d) {
    if (!take(operations, Encoding::sop1, field(word, 8, 8), inst)) return false;
    if (inst.width[0] != 0) inst.dst = field(word, 16, 7);
    inst.src[0] = if_read(inst, 0, field(word, 0, 8));
    inst.src[1] = if_read(inst, 1, code::m0);  // relative moves
    const bool from_relative = operations.at(inst.op).has(traits::relative_source);
    if (from_relative && inst.src[0] >= 128) return false;
    return take_literal(words, inst);
  }
  if (word >> 28 == 0xb) return sopk(operations, words, inst);
  if (!take(operations, Encoding::sop2, field(word, 23, 7), inst)) return false;
  inst.dst = field(word, 16, 7);
  inst.src[0] = field(word, 0, 8);
  inst.src[1] = field(word, 8, 8);
  return take_literal(words, inst);
}

}  // namespace mla::gfx::parts

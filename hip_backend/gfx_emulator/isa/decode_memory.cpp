// DS, FLAT, GLOBAL, SCRATCH and MUBUF. Sources: 0 address, 1 data, 2 second data or scalar base,
// 3 scalar offset.
#include "hip_backend/gfx_emulator/isa/decode.hpp"

namespace mla::gfx::parts {
namespace {

std::uint16_t reg(std::uint32_t word, unsigned low, bool accumulator) {
  return static_cast<std::uint16_t>(field(word, low, 8) + (accumulator ? code::agpr : code::vgpr));
}

bool ds(const Operations& operations, Words words, Inst& inst) {
  const std::uint32_t word = words[0], second = words[1];
  if (field(word, 16, 1) != 0) return false;  // GDS does not exist here
  if (!take(operations, Encoding::ds, field(word, 17, 8), inst)) return false;
  const bool acc = field(word, 25, 1) != 0;
  if (inst.width[0] != 0) inst.dst = reg(second, 24, acc);
  if (inst.width[1] != 0) inst.src[0] = reg(second, 0, false);
  if (inst.width[2] != 0) inst.src[1] = reg(second, 8, acc);
  if (inst.width[3] != 0) inst.src[2] = reg(second, 16, acc);
  const bool two = operations.at(inst.op).has(traits::two_offsets);
  inst.imm = two ? field(word, 0, 8) : field(word, 0, 16);
  inst.offset1 = static_cast<std::uint8_t>(two ? field(word, 8, 8) : 0);
  return true;
}

bool flat(const Operations& operations, Words words, Inst& inst) {
  static constexpr Encoding segments[] = {Encoding::flat, Encoding::scratch, Encoding::global};
  const std::uint32_t word = words[0], second = words[1];
  const unsigned segment = field(word, 14, 2);
  if (segment > 2 || !take(operations, segments[segment], field(word, 18, 7), inst)) return false;
  const bool acc = field(second, 23, 1) != 0;
  inst.imm = segment == 0 ? field(word, 0, 12) : static_cast<std::int32_t>(word << 19) >> 19;
  inst.sve = field(word, 13, 1) != 0;
  inst.glc = field(word, 16, 1) != 0;
  inst.nt = field(word, 17, 1) != 0;
  inst.sc1 = field(word, 25, 1) != 0;
  const bool atomic = operations.at(inst.op).has(traits::atomic);
  if (inst.width[0] != 0 && (!atomic || inst.glc)) inst.dst = reg(second, 24, acc);
  if (segment != 1 || inst.sve) inst.src[0] = reg(second, 0, false);
  if (inst.width[2] != 0) inst.src[1] = reg(second, 8, acc);
  const std::uint16_t base = field(second, 16, 7);
  if (segment != 0 && base != 0x7f) {
    inst.src[2] = base;
    if (segment == 2) inst.width[1] = 1;
  }
  if (segment == 1) inst.width[1] = 1;
  return true;
}

bool mubuf(const Operations& operations, Words words, Inst& inst) {
  const std::uint32_t word = words[0], second = words[1];
  if (!take(operations, Encoding::mubuf, field(word, 18, 7), inst)) return false;
  inst.glc = field(word, 14, 1) != 0;
  inst.sc1 = field(word, 15, 1) != 0;
  if (inst.kind == Class::other) return true;  // cache control
  const bool acc = field(second, 23, 1) != 0;
  inst.imm = field(word, 0, 12);
  inst.offen = field(word, 12, 1) != 0;
  inst.idxen = field(word, 13, 1) != 0;
  inst.nt = field(word, 17, 1) != 0;
  inst.lds = field(word, 16, 1) != 0;
  const bool atomic = operations.at(inst.op).has(traits::atomic);
  const std::uint16_t data = reg(second, 8, acc);
  if (inst.width[2] != 0) inst.src[1] = data;
  if (inst.width[0] != 0 && !inst.lds && (!atomic || inst.glc)) inst.dst = data;
  if (inst.offen || inst.idxen) inst.src[0] = reg(second, 0, false);
  inst.width[1] = inst.offen && inst.idxen ? 2 : 1;
  inst.src[2] = static_cast<std::uint16_t>(field(second, 16, 5) * 4);
  inst.src[3] = field(second, 24, 8);
  return true;
}

}  // namespace

bool memory(const Operations& operations, Words words, Inst& inst) {
  inst.words = 2;
  switch (words[0] >> 26) {
    case 0x36:
      return ds(operations, words, inst);
    case 0x37:
      return flat(operations, words, inst);
    case 0x38:
      return mubuf(operations, words, inst);
    default:
      return false;
  }
}

}  // namespace mla::gfx::parts

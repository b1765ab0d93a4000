#include "hip_backend/gfx_emulator/isa/decode.hpp"

#include <cstdio>
#include <string>

#include "hip_backend/gfx_emulator/isa/registers.hpp"

namespace mla::gfx {
namespace parts {

bool take(const Operations& operations, Encoding encoding, unsigned op, Inst& inst) {
  const int index = operations.find(encoding, op);
  if (index < 0) return false;
  const Operation& operation = operations.at(static_cast<unsigned>(index));
  inst.op = static_cast<std::uint16_t>(index);
  inst.by_mode = operation.has(traits::by_mode);
  inst.width = operation.width;
  inst.kind = operation.kind;
  return true;
}

bool take_literal(Words words, Inst& inst) {
  for (const std::uint16_t source : inst.src) {
    if (source != code::literal) continue;
    if (words.size() < 2) return false;
    inst.literal = words[1];
    inst.words = 2;
    return true;
  }
  return true;
}

void mark_sources(Inst& inst) {
  for (unsigned k = 0; k < inst.src.size(); ++k) {
    const bool plain = inst.src[k] >= code::vgpr;
    const bool changed =
        ((inst.neg | inst.abs | inst.op_sel) >> k & 1) != 0 || inst.sdwa || (k == 0 && inst.dpp);
    const auto bit = static_cast<std::uint8_t>(1U << k);
    if (!plain || changed) inst.slow |= bit;
    if (!plain && !changed) inst.spread |= bit;
  }
}

}  // namespace parts

namespace {

std::string unknown(std::span<const std::uint32_t> words, std::uint32_t at) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%x:", at);
  std::string message = std::string("unknown encoding at ") + text;
  for (std::size_t i = 0; i < words.size() && i < 2; ++i) {
    std::snprintf(text, sizeof text, " %08x", words[i]);
    message += text;
  }
  return message;
}

}  // namespace

Result<Inst> decode(const Operations& operations, std::span<const std::uint32_t> words,
                    std::uint32_t at) {
  if (words.empty()) return Error{ErrorCode::usage, unknown(words, at) + " the code ends here", {}};
  Inst inst;
  inst.at = at;
  const std::uint32_t first = words[0];
  const unsigned top6 = first >> 26;
  bool known = false;
  if (first >> 31 == 0) {
    known = parts::vector(operations, words, inst);
  } else if (first >> 30 == 2 || top6 == 0x30) {
    known = parts::scalar(operations, words, inst);
  } else if (words.size() >= 2 && top6 == 0x34) {
    known = parts::vop3(operations, words, inst);
  } else if (words.size() >= 2) {
    known = parts::memory(operations, words, inst);
  }
  if (!known || !registers_exist(inst))
    return Error{ErrorCode::unsupported, unknown(words, at), {}};
  return inst;
}

}  // namespace mla::gfx

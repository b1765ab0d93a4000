// Owns: instructions as text, for reports: mnemonic, operands, and the modifiers that matter.
#pragma once

#include <string>

#include "hip_backend/gfx_emulator/isa/inst.hpp"
#include "hip_backend/gfx_emulator/isa/operations.hpp"

namespace mla::gfx {

// "v_mfma_f32_16x16x16_bf16 v[0:3], a[4:5], v[6:7], v[0:3]". `inst.imm` of a branch is the index of
// its target once the code object is loaded.
[[nodiscard]] std::string disassemble(const Operations& operations, const Inst& inst);
[[nodiscard]] std::string operand_text(const Inst& inst, std::uint16_t operand, unsigned width);

}  // namespace mla::gfx

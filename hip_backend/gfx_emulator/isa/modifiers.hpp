// Owns: what follows the operands of an instruction, or stands in the place of one, as LLVM writes
// it: "offset:16 sc0", "op_sel:[0,1,0]", "row_shr:1 row_mask:0xf bank_mask:0xf", "hwreg(...)".
#pragma once

#include <string>

#include "hip_backend/gfx_emulator/isa/inst.hpp"
#include "hip_backend/gfx_emulator/isa/operations.hpp"

namespace mla::gfx {

// Everything after the operands, each with a space in front.
[[nodiscard]] std::string modifiers_of(const Operation& operation, const Inst& inst);

// An operand that is no register: counts of a wait, a hardware register, an immediate; else "".
[[nodiscard]] std::string symbol_of(const Operation& operation, const Inst& inst);
// s_setreg: the symbol is the destination.
[[nodiscard]] bool symbol_first(const Operation& operation);

// "0x10", "-0x10".
[[nodiscard]] std::string offset_text(std::int32_t offset);

// Whether `neg` and `abs` are signs of the sources; packed and matrix forms have other uses.
[[nodiscard]] bool has_signs(const Operation& operation, const Inst& inst);
// Whether source `k` is the destination or a part of the symbol, which the text names once.
[[nodiscard]] bool is_tied(const Operation& operation, const Inst& inst, unsigned k);

}  // namespace mla::gfx

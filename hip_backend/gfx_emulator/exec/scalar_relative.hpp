// Owns: scalar moves whose source or destination is the register that M0 counts from the one in the
// encoding (S_MOVRELS and S_MOVRELD). What leads past s105 is a fault, as is an odd pair.
#pragma once

#include "hip_backend/gfx_emulator/exec/wave.hpp"

namespace mla::gfx {

void move_from_relative(Wave& wave, const Inst& inst);
void move_to_relative(Wave& wave, const Inst& inst);

[[nodiscard]] inline bool is_relative_move(const Inst& inst) {
  return inst.run == move_from_relative || inst.run == move_to_relative;
}
// The instruction with the registers that M0 gives it now, for the checks.
[[nodiscard]] Inst with_relative_registers(const Wave& wave, const Inst& inst);

}  // namespace mla::gfx

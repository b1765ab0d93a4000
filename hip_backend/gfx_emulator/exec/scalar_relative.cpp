#include "hip_backend/gfx_emulator/exec/scalar_relative.hpp"
#include "hip_backend/gfx_emulator/exec/reporting.hpp"

namespace mla::gfx {
namespace {

constexpr std::uint64_t general_registers = 106;  // s0 to s105; VCC follows

void move(Wave& w, const Inst& inst, bool from) {
  const Inst now = with_relative_registers(w, inst);
  if ((from ? now.src[0] : now.dst) == code::none) {
    report_fault(w, inst, Problem::bad_operand, -1, w.s[code::m0],
                 "M0 leads to no scalar register, or to the second one of a pair");
    w.state = WaveState::ended;
    return;
  }
  if (now.width[0] == 2) {
    write_scalar64(w, now.dst, read_scalar64(w, now, now.src[0]));
  } else {
    write_scalar(w, now.dst, read_scalar(w, now, now.src[0]));
  }
}

}  // namespace

Inst with_relative_registers(const Wave& wave, const Inst& inst) {
  Inst out = inst;
  std::uint16_t& operand = inst.run == move_from_relative ? out.src[0] : out.dst;
  const std::uint64_t at = std::uint64_t{operand} + wave.s[code::m0];
  const bool pair = inst.width[0] == 2;
  const bool exists = at + inst.width[0] <= general_registers && !(pair && at % 2 != 0);
  operand = exists ? static_cast<std::uint16_t>(at) : code::none;
  return out;
}

void move_from_relative(Wave& wave, const Inst& inst) {
  move(wave, inst, true);
}
void move_to_relative(Wave& wave, const Inst& inst) {
  move(wave, inst, false);
}

}  // namespace mla::gfx

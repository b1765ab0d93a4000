// Owns: vector operands with everything that can be attached to them: scalars and constants spread
// over the lanes, SDWA, DPP, op_sel, abs and neg; and results with clamp, omod and partial writes.
// This is the slow way; plain registers never come here.
#pragma once

#include <cstdint>

#include "hip_backend/gfx_emulator/exec/wave.hpp"

namespace mla::gfx {

// How an operand is read: inline constants and the sign bit depend on it.
enum class Kind : std::uint8_t { b16, b32, b64, i64, f16, f32, f64, packed };

// Fills 64 lanes (low halves, then 64 high halves for 64-bit kinds) with source `k`.
void fetch(Wave& wave, const Inst& inst, unsigned k, Kind kind, std::uint32_t* lanes_out);

// Writes 64 lanes (and 64 high halves) to the destination: omod, clamp, SDWA and op_sel selection,
// EXEC and the DPP masks. `keep_high`: a 16-bit result leaves the upper half of the register alone.
void finish(Wave& wave, const Inst& inst, Kind kind, bool keep_high, std::uint32_t* values);

// The clamp bit: to 0..1. MODE says what becomes of a NaN: zero with DX10_CLAMP, else it stays.
[[nodiscard]] float clamped(const Wave& wave, float value);
[[nodiscard]] double clamped(const Wave& wave, double value);

// Writes a lane mask (VCC or a scalar pair): bits of inactive lanes are zero.
inline void write_mask(Wave& wave, const Inst& inst, std::uint64_t bits) {
  write_scalar64(wave, inst.sdst, bits & wave.exec());
}

}  // namespace mla::gfx

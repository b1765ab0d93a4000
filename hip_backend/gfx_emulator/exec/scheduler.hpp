// Owns: in which order the waves of a workgroup take turns, and what a turn is.
//
// One host thread runs one workgroup. Waves take turns of `slice` instructions, round robin, in
// reverse, or shuffled by the seed in every round; a wave at a barrier waits until every wave that
// has not ended is there. A launch that has been stopped ends after the current instruction.
#pragma once

#include "hip_backend/gfx_emulator/exec/wave.hpp"

namespace mla::gfx {

void run_workgroup(Group& group);

// A finding of the checks, kept once for each instruction and kind.
void report_finding(Wave& wave, const Inst& inst, Problem problem, int lane, std::uint64_t address,
                    std::string text);

}  // namespace mla::gfx

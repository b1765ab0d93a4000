// Owns: in which order the waves of a workgroup take turns, and what a turn is.
//
// One host thread runs one workgroup. Waves take turns of `slice` instructions, round robin, in
// reverse, or shuffled by the seed in every round; a wave at a barrier waits until every wave that
// has not ended is there. A launch that has been stopped ends after the current instruction.
#pragma once

#include <optional>

#include "hip_backend/gfx_emulator/exec/wave.hpp"

namespace mla::gfx {

void run_workgroup(Group& group);

// A finding of the checks, kept once for each instruction and kind.
struct Finding {
  Problem problem;
  int lane = -1;  // -1: the whole wave
  std::uint64_t address = 0;
  std::string text;
  std::optional<Cause> cause = {};
  std::string fix = {};
};
void report_finding(Wave& wave, const Inst& inst, Finding finding);
[[nodiscard]] Cause cause_at(const Wave& wave, std::array<std::uint32_t, 3> workgroup,
                             std::uint32_t number, std::uint64_t pc);
void report_finding(Wave& wave, const Inst& inst, Problem problem, int lane, std::uint64_t address,
                    std::string text);

}  // namespace mla::gfx

// Owns: how a wave reports what goes wrong while it runs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "hip_backend/gfx_emulator/exec/wave.hpp"

namespace mla::gfx {

// Reports what goes wrong. A fault stops the launch when its limit is reached.
void report_fault(Wave& wave, const Inst& inst, Problem problem, int lane, std::uint64_t address,
                  std::string text);

// Ends the launch for an interrupt, at the instructions that the waves would execute next.
void report_interrupt(Group& group);

// A finding of the checks, kept once for each instruction and kind.
struct Finding {
  Problem problem;
  int lane = -1;  // -1: the whole wave
  std::uint64_t address = 0;
  std::string text;
  std::uint64_t lanes = 0;  // that it is about; 0: not known lane by lane
  std::optional<Cause> cause = {};
  std::string fix = {};
  bool note = false;  // it is not held against the kernel
};
void report_finding(Wave& wave, const Inst& inst, Finding finding);
[[nodiscard]] Cause cause_at(const Wave& wave, std::array<std::uint32_t, 3> workgroup,
                             std::uint32_t number, std::uint64_t pc);
void report_finding(Wave& wave, const Inst& inst, Problem problem, int lane, std::uint64_t address,
                    std::string text);

}  // namespace mla::gfx

// Owns: waits along all paths of a kernel, without running it.
//
// For each register the newest operation that may still write it is followed through the
// control-flow graph: at most so many operations of its counter were issued since. What an
// instruction reads or overwrites while that is so on some path is a finding. Paths that no launch
// takes are followed too, so a finding may be none; jumps through registers are not followed, and
// operands under the gpr index mode are not looked at. LDS and memory themselves are not tracked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hip_backend/gfx_emulator/code_object.hpp"

namespace mla::gfx {

struct StaticFinding {
  std::uint64_t at = 0;        // the instruction that uses the register, offset in the image
  std::uint64_t other_at = 0;  // the operation that it does not wait for
  std::string text;            // "v5 is read while a load of it may be outstanding"
  std::string fix;             // "s_waitcnt vmcnt(1)"
};

struct StaticReport {
  std::vector<StaticFinding> findings;  // by place
  std::size_t instructions = 0;         // that some path reaches
  std::size_t jumps_not_followed = 0;
};

[[nodiscard]] StaticReport check_waits(const CodeObject& object, const Kernel& kernel);

}  // namespace mla::gfx

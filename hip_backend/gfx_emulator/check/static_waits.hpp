// Owns: missing waits along all paths of a kernel, without running it.
//
// A result of a load is outstanding from its issue until an s_waitcnt covers it. The search follows
// every path of the control-flow graph and keeps, for each load, the smallest number of younger
// operations of its counter: the path on which a count waits for least. So what is reported can
// happen on some path of the graph; whether the data ever choose that path, it does not know.
// Counters, order and FLAT are those of the running check (check/checker.hpp).
//
// Not followed: jumps to an address in a register end a path, vector operands in the gpr index mode
// are unknown, LDS is not looked at. A function that is called begins, and goes on after the call,
// with nothing outstanding (compiled ones wait for all); a call whose target is in the instruction
// passes on what is outstanding. A kernel with calls has all functions of the object looked at.
// Each is counted in the report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hip_backend/gfx_emulator/object/code_object.hpp"

namespace mla::gfx {

struct MissingWait {
  std::uint32_t use = 0, load = 0;  // offsets of the instructions in the image
  std::string registers;            // "v[0:3]", as the user names them
  bool overwritten = false;         // else read
  std::string counter;              // "vmcnt", "lgkmcnt", "vmcnt and lgkmcnt"
  std::string wait;                 // "s_waitcnt vmcnt(1)": what the use needs
};

struct StaticReport {
  std::vector<MissingWait> missing;   // by address of the use, then of the load
  std::uint64_t instructions = 0;     // that some path reaches
  std::uint64_t indirect_jumps = 0;   // where a path ends
  std::uint64_t calls = 0;            // after which nothing is outstanding
  std::uint64_t indexed = 0;          // vector instructions in the gpr index mode
  std::uint64_t ends_in_no_code = 0;  // paths that run into what is no instruction
};

[[nodiscard]] StaticReport check_waits(const CodeObject& object, const Kernel& kernel);

}  // namespace mla::gfx

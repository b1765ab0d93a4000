// Owns: what all workgroups of one launch share while they run.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hip_backend/gfx_emulator/exec/options.hpp"
#include "hip_backend/gfx_emulator/exec/wave.hpp"
#include "hip_backend/gfx_emulator/object/code_object.hpp"
#include "hip_backend/gfx_emulator/report/progress.hpp"

namespace mla::gfx {

struct Launch {
  const CodeObject* object = nullptr;
  const Kernel* kernel = nullptr;
  const LaunchRequest* request = nullptr;
  std::vector<Range> ranges;  // sorted: memory, code object, kernel arguments, dispatch packet
  std::uint64_t kernarg = 0, packet = 0;  // addresses
  std::vector<std::byte> kernarg_bytes;
  std::uint32_t lds_size = 0, scratch_size = 0;
  std::atomic<bool> stopped = false;
  std::mutex mutex;  // guards the report and what is below
  std::array<std::uint64_t, Group::most_operations> executed = {};  // by operation
  std::vector<InstructionCount> counts;  // by index of the instruction, if a profile is asked for
  std::map<std::array<std::uint32_t, 3>, std::string> interrupted;  // workgroups, where they were
  std::unique_ptr<LaunchProgress> progress;                         // null: not asked for
  LaunchReport report;
};

}  // namespace mla::gfx

// Owns: what all workgroups of one launch share while they run.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
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
  // Workgroups after this one end: one thread would not have begun them. Those before it go on
  // after a fault, because one of their own would come first. -1: all end. Only falls, under the
  // lock.
  std::atomic<std::int64_t> last_group = std::numeric_limits<std::int64_t>::max();
  std::mutex mutex;  // guards the report and what is below
  std::array<std::uint64_t, Group::most_operations> executed = {};  // by operation
  std::vector<InstructionCount> counts;  // by index of the instruction, if a profile is asked for
  std::map<std::array<std::uint32_t, 3>, std::string> interrupted;  // workgroups, where they were
  std::unique_ptr<LaunchProgress> progress;                         // null: not asked for
  LaunchReport report;

  // The place of a workgroup in the order in which they begin.
  [[nodiscard]] std::int64_t place_of(const std::array<std::uint32_t, 3>& id) const {
    const auto& grid = request->grid;
    return (std::int64_t{id[2]} * grid[1] + id[1]) * grid[0] + id[0];
  }
  [[nodiscard]] bool ends(const Group& group) const { return place_of(group.id) > last_group; }
};

}  // namespace mla::gfx

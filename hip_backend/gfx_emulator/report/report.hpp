// Owns: what is known of a launch afterwards: faults, findings, statistics, what it rested on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hip_backend/gfx_emulator/elf/line_table.hpp"
#include "hip_backend/gfx_emulator/isa/traits.hpp"
#include "hip_backend/gfx_emulator/report/profile.hpp"

namespace mla::gfx {

enum class Problem : std::uint8_t {
  // faults
  out_of_bounds,
  read_only,
  misaligned,
  lds_out_of_bounds,
  bad_jump,
  not_implemented,
  trap,
  instruction_limit,
  bad_operand,
  // findings of the checks
  missing_wait,
  lds_race,
  global_race,
  uninitialised_register,
  uninitialised_lds,
  uninitialised_memory,
  divergent_barrier,
  divergent_lanes,
  inactive_lane,
  hidden_out_of_bounds,
  missing_release,
  missing_acquire,
  narrow_scope,
};
[[nodiscard]] const char* name_of(Problem problem);

// The other instruction of a finding: what was not waited for, or what raced.
struct Cause {
  std::array<std::uint32_t, 3> workgroup = {};
  std::uint32_t wave = 0;
  std::uint64_t pc = 0;     // offset in the image
  std::string place;        // "kernel+0x1c"
  std::string disassembly;  // empty where it is not known
  std::optional<SourceLine> source;
  [[nodiscard]] std::string text() const;
};

struct Event {
  Problem problem = Problem::out_of_bounds;
  std::array<std::uint32_t, 3> workgroup = {};
  std::uint32_t wave = 0;
  int lane = -1;            // -1: the whole wave
  std::uint64_t lanes = 0;  // of a missing wait: whose registers; 0: not known lane by lane
  std::uint64_t pc = 0;     // offset in the image
  std::string place;        // "kernel+0x1c"
  std::string disassembly;
  std::uint64_t address = 0;
  std::string text;                  // what exactly
  std::string range;                 // the memory range that was meant; empty: none, or no access
  std::int64_t range_offset = 0;     // bytes from its begin
  std::uint64_t range_size = 0;      // bytes
  std::optional<SourceLine> source;  // where the code object has debug information
  std::optional<Cause> cause;
  std::string fix;  // what would mend it: "s_waitcnt vmcnt(1)"; empty: not known
  // The address in words that are the same in every run, as the host's are not: "'out'+0x100" of a
  // memory range, or the number where no memory of the host lies. Empty: there are none.
  [[nodiscard]] std::string address_text() const;
  [[nodiscard]] std::string line() const;  // all of it in one line
};

// What matrix instructions multiply, as far as their rate depends on it.
enum class MatrixType : std::uint8_t {
  f64,
  f32,
  xf32,
  half,  // f16, bf16
  byte,  // i8, 8-bit floats, and f8f6f4 whatever its formats
  count,
};
[[nodiscard]] const char* name_of(MatrixType type);

struct Statistics {
  std::uint64_t instructions = 0;  // executed by waves
  std::array<std::uint64_t, static_cast<std::size_t>(Class::count)> by_class = {};
  // Of matrix instructions, a multiplication and an addition as two.
  std::array<std::uint64_t, static_cast<std::size_t>(MatrixType::count)> matrix_flops = {};
  std::uint64_t bytes_read = 0, bytes_written = 0;  // global memory, active lanes
  std::uint64_t lds_bytes_read = 0, lds_bytes_written = 0;
  std::uint64_t lds_loads_masked = 0;  // lanes of loads to LDS that LDS_DMA_MASK drops
  std::uint64_t scratch_bytes = 0;
  std::uint64_t lds_bank_conflicts = 0;  // extra passes over 32 banks
  std::uint64_t barrier_stalls = 0;      // turns a wave could not take, waiting at a barrier
  std::uint64_t workgroups = 0, waves = 0;
  void add(const Statistics& other);
};

// Something that no manual defines and that the launch came by.
struct Assumed {
  std::string name;         // as in assumptions.hpp
  std::uint64_t times = 0;  // wave instructions whose result may rest on it
};

// A stretch of a wave's time, in instructions that it executed. A barrier lasts until the wave that
// executed most has arrived.
struct TraceEvent {
  std::uint32_t wave = 0;
  std::uint64_t begin = 0, end = 0;  // equal: a fault or a finding
  std::uint64_t count = 0;           // instructions; 0: none, the wave waits
  std::uint64_t pc = 0;              // of the first
  std::string text = {};             // its disassembly, of a single one
  std::string what = {};  // an operation, "arithmetic", "matrix", "waits at the barrier", a problem
};

struct LaunchReport {
  std::vector<Event> faults;
  std::vector<Event> findings;
  std::vector<Event> notes;  // what the checks saw and do not hold against the kernel
  std::vector<Assumed> assumed;
  std::uint64_t findings_dropped = 0;
  Statistics statistics;
  std::vector<ProfileLine> profile;  // empty: not asked for
  std::vector<TraceEvent> trace;     // of one workgroup, in the order of execution
  std::uint64_t trace_dropped = 0;   // events that were too many
  [[nodiscard]] bool clean() const { return faults.empty() && findings.empty(); }
};

}  // namespace mla::gfx

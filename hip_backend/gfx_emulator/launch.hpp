// Owns: running one kernel, and what is known about the run afterwards.
//
// run() returns an error for a request that cannot start (no such kernel, a block that is too
// large, too much LDS). What goes wrong while the kernel runs is a Fault in the report: the launch
// ends early, and memory is left as it was at that moment.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "hip_backend/gfx_emulator/code_object.hpp"
#include "hip_backend/gfx_emulator/memory.hpp"
#include "hip_backend/gfx_emulator/profile.hpp"

namespace mla::gfx {

enum class Order : std::uint8_t { round_robin, reverse, random };
enum class MfmaMode : std::uint8_t {
  fast,   // f32 multiply-add in ascending k
  exact,  // gfx942: the published bit model; gfx950 has none, and run() refuses
};

struct Schedule {
  std::uint32_t slice = 4;  // instructions of a wave before the next one runs; 0: to the barrier
  Order order = Order::round_robin;
  std::uint64_t seed = 1;  // random only
};

// When an operation on memory takes effect: reads and writes memory, and sets its registers.
// Operations of one kind keep their order; FLAT and scalar loads have none (assumption
// MEMORY_ORDER).
struct Arrival {
  enum class Mode : std::uint8_t {
    early,   // at once
    late,    // no sooner than an s_waitcnt, a full counter or the end of the wave asks for it
    random,  // after a number of instructions of the wave that is drawn from the seed
    after,   // after a fixed number of instructions; s_waitcnt waits as ever
  };
  Mode mode = Mode::early;
  std::uint64_t number = 0;  // the seed of random, the instructions of after
};

struct Checks {
  bool waits = false;           // results used before s_waitcnt
  bool lds_races = false;       // waves that touch the same byte of LDS between two barriers
  bool global_races = false;    // the same in global memory, for all waves of the launch
  bool global_notes = false;    // global races are notes, not findings
  bool uninitialised = false;   // registers and LDS read before written
  bool barriers = true;         // waves that end or wait while others never arrive
  bool bank_conflicts = false;  // counts them in the statistics
  // Buffer accesses past the number of records, which hardware drops, except with masked_offset:
  // that is how Triton's compiler masks a lane. Others may rely on the drop.
  bool dropped = false;
  static constexpr std::uint32_t masked_offset = 0x80000000;
  [[nodiscard]] bool any_per_instruction() const {
    return waits || lds_races || global_races || uninitialised;
  }
};
// The checks that find mistakes of any kernel. `dropped` is not among them: to drop is the
// hardware's way of masking.
inline constexpr Checks every_check = {
    .waits = true, .lds_races = true, .global_races = true, .uninitialised = true};

struct RunOptions {
  Schedule schedule = {};
  Checks checks = {};
  Arrival arrival = {};  // other than early: without the checks that cost time
  MfmaMode mfma = MfmaMode::fast;
  std::uint32_t fault_limit = 1;             // the launch ends after so many
  std::uint32_t finding_limit = 64;          // further findings are counted, not kept
  std::uint64_t instruction_limit = 0;       // for each wave; 0: none
  std::uint32_t dynamic_stack_size = 16384;  // bytes a lane, for kernels that ask for it
  // What only a report is for; both with memory that answers early.
  bool profile = false;                                    // LaunchReport::profile
  std::optional<std::array<std::uint32_t, 3>> trace = {};  // of this workgroup
  int threads = 0;                                         // host threads; 0: OpenMP's choice
};

struct LaunchRequest {
  std::string kernel = {};
  std::array<std::uint32_t, 3> grid = {1, 1, 1};   // workgroups
  std::array<std::uint32_t, 3> block = {1, 1, 1};  // threads
  std::span<const std::byte> kernarg = {};         // hidden arguments are filled in by run()
  std::uint32_t dynamic_lds = 0;
  RunOptions options = {};
};

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
  divergent_barrier,
  hidden_out_of_bounds,
};
[[nodiscard]] const char* name_of(Problem problem);

// The other instruction of a finding: what was not waited for, or what raced.
struct Cause {
  std::array<std::uint32_t, 3> workgroup = {};
  std::uint32_t wave = 0;
  std::uint64_t pc = 0;     // offset in the image
  std::string place;        // "kernel+0x1c"
  std::string disassembly;  // empty where it is not known
};

struct Event {
  Problem problem = Problem::out_of_bounds;
  std::array<std::uint32_t, 3> workgroup = {};
  std::uint32_t wave = 0;
  int lane = -1;         // -1: the whole wave
  std::uint64_t pc = 0;  // offset in the image
  std::string place;     // "kernel+0x1c"
  std::string disassembly;
  std::uint64_t address = 0;
  std::string text;                  // what exactly
  std::string range;                 // the memory range that was meant; empty: none, or no access
  std::int64_t range_offset = 0;     // bytes from its begin
  std::uint64_t range_size = 0;      // bytes
  std::optional<SourceLine> source;  // where the code object has debug information
  std::optional<Cause> cause;
  std::string fix;  // what would mend it: "s_waitcnt vmcnt(1)"; empty: not known
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
  std::vector<ProfileLine> profile;  // empty: nobody asked
  std::vector<TraceEvent> trace;     // of one workgroup, in the order of execution
  std::uint64_t trace_dropped = 0;   // events that were too many
  [[nodiscard]] bool clean() const { return faults.empty() && findings.empty(); }
};

[[nodiscard]] Result<LaunchReport> run(const CodeObject& object, const LaunchRequest& request,
                                       const Memory& memory);

}  // namespace mla::gfx

// Owns: what a launch is asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

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
  bool waits = false;          // results used before s_waitcnt
  bool lds_races = false;      // waves that touch the same byte of LDS between two barriers
  bool global_races = false;   // the same in global memory, for all waves of the launch
  bool global_notes = false;   // global races are notes, not findings
  bool uninitialised = false;  // registers, LDS and fresh memory (Range) read before written
  bool barriers = true;        // waves that end or wait while others never arrive
  // Of these, waves that end are notes: the hardware lets the others go on, and code objects of
  // others may count on it.
  bool barrier_notes = false;
  bool lanes = false;             // shuffles and barriers from which lanes of the wave are missing
  bool same_barrier = false;      // waves that wait for each other at different instructions
  bool barriers_by_name = false;  // a list of checks has the word
  bool coherence = false;         // what another workgroup wrote, used without release and acquire
  bool bank_conflicts = false;    // counts them in the statistics
  // Buffer accesses past the number of records, which hardware drops, except with masked_offset:
  // that is how Triton's compiler masks a lane. Others may rely on the drop.
  bool dropped = false;
  static constexpr std::uint32_t masked_offset = 0x80000000;
  [[nodiscard]] bool any_per_instruction() const {
    return waits || lds_races || global_races || uninitialised || lanes || coherence;
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
  std::uint32_t fault_limit = 1;        // the launch ends after so many
  std::uint32_t finding_limit = 64;     // further findings are counted, not kept
  std::uint64_t instruction_limit = 0;  // for each wave; 0: none (run/instruction_limit.hpp)
  // Bytes of registers, scratch and LDS of workgroups that are begun and not ended; one always is.
  std::size_t waiting_memory = std::size_t{1} << 30;
  std::uint32_t dynamic_stack_size = 16384;  // bytes a lane, for kernels that ask for it
  // What only a report is for; both with memory that answers early.
  bool profile = false;                                    // LaunchReport::profile
  std::optional<std::array<std::uint32_t, 3>> trace = {};  // of this workgroup
  int threads = 0;                                         // host threads; 0: OpenMP's choice
  bool progress = false;  // of a launch that takes long, on stderr (report/progress.hpp)
};

struct LaunchRequest {
  std::string kernel = {};
  std::array<std::uint32_t, 3> grid = {1, 1, 1};   // workgroups
  std::array<std::uint32_t, 3> block = {1, 1, 1};  // threads
  std::span<const std::byte> kernarg = {};         // hidden arguments are filled in by run()
  std::uint32_t dynamic_lds = 0;
  RunOptions options = {};
};

}  // namespace mla::gfx

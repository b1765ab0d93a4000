// Owns: the state of a wave and of its workgroup while they run.
//
// Vector registers are rows of 64 lanes: v0..v255 at row 0.., a0..a255 at row 256... Special scalar
// registers (VCC, M0, EXEC) are slots of the scalar file under their encoded numbers.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "hip_backend/gfx_emulator/isa/inst.hpp"
#include "hip_backend/gfx_emulator/memory/ranges.hpp"
#include "hip_backend/gfx_emulator/report/report.hpp"

namespace mla::gfx {

constexpr unsigned lanes = 64;
struct Launch;
struct Group;
class LdsWatch;
class GlobalWatch;
class Recorder;

enum class WaveState : std::uint8_t { running, at_barrier, ended };

struct Wave {
  alignas(64) std::uint32_t v[512][lanes];
  alignas(64) std::uint32_t mask[lanes];  // all ones where EXEC has the lane, for `mask_of`
  alignas(64) std::uint32_t s[128];
  std::uint64_t mask_of = 0;
  std::uint32_t scc = 0;
  std::uint32_t mode = 0;
  std::uint32_t float_control = 0;  // the host's, for this mode
  std::uint32_t next = 0;           // index of the next instruction
  std::uint32_t gpr_index = 0;      // nonzero: gpr index mode is on, bits as in M0[15:12]
  WaveState state = WaveState::running;
  const Inst* code = nullptr;
  Group* group = nullptr;
  std::uint32_t number = 0;  // in its workgroup
  std::byte* scratch = nullptr;
  std::uint32_t scratch_size = 0;  // for each lane
  std::uint64_t executed = 0;
  // The first instructions that ran, by index, and whether these are all that wrote registers: what
  // a short workgroup has written is set anew without the rest (start.hpp).
  static constexpr std::uint64_t opening = 64;
  std::uint32_t opened[opening];
  bool opening_only = false;
  Range seen;  // the range of the last access

  [[nodiscard]] std::uint64_t pair(unsigned index) const {
    return s[index] | static_cast<std::uint64_t>(s[index + 1]) << 32;
  }
  void set_pair(unsigned index, std::uint64_t value) {
    s[index] = static_cast<std::uint32_t>(value);
    s[index + 1] = static_cast<std::uint32_t>(value >> 32);
  }
  [[nodiscard]] std::uint64_t exec() const { return pair(code::exec); }
  [[nodiscard]] std::uint32_t* reg(std::uint16_t operand) { return v[operand - code::vgpr]; }
};

struct Group {
  Launch* launch = nullptr;
  std::array<std::uint32_t, 3> id = {};
  std::vector<std::byte> lds;
  std::uint32_t lds_size = 0;
  std::vector<Wave*> waves;
  Statistics statistics;
  // Wave instructions by index of their operation.
  static constexpr std::size_t most_operations = 2048;
  std::array<std::uint64_t, most_operations> executed = {};
  LdsWatch* lds_watch = nullptr;        // null: not watched
  GlobalWatch* global_watch = nullptr;  // the same
  Recorder* recorder = nullptr;         // null: no profile or trace is wanted
  bool late = false;                    // memory answers later
  bool stopped = false;
  bool watched = false;             // a check or a statistic wants to see every LDS access
  std::uint32_t float_control = 0;  // the host's, as it is now
};

// Scalar operands. `inst` provides the literal.
[[nodiscard]] std::uint32_t read_scalar(const Wave& wave, const Inst& inst, std::uint16_t operand);
[[nodiscard]] std::uint64_t read_scalar64(const Wave& wave, const Inst& inst,
                                          std::uint16_t operand);
// A literal has 32 bits. A signed operand of 64 bits has its sign, any other integer one zeros
// above.
[[nodiscard]] std::uint64_t signed_literal(const Inst& inst);
// The inline constants 128..248 as they look to 16-bit float and 64-bit float operands.
[[nodiscard]] std::uint32_t inline_half(std::uint16_t operand);
[[nodiscard]] std::uint64_t inline_double(std::uint16_t operand);

inline void write_scalar(Wave& wave, std::uint16_t operand, std::uint32_t value) {
  if (operand < 128) wave.s[operand] = value;
}
inline void write_scalar64(Wave& wave, std::uint16_t operand, std::uint64_t value) {
  if (operand < 127) wave.set_pair(operand, value);
}

// EXEC as a mask of lanes, renewed when EXEC has changed.
inline const std::uint32_t* lane_mask(Wave& wave) {
  const std::uint64_t exec = wave.exec();
  if (exec != wave.mask_of) {
    for (unsigned l = 0; l < lanes; ++l) wave.mask[l] = exec >> l & 1 ? ~0U : 0U;
    wave.mask_of = exec;
  }
  return wave.mask;
}

// The floating point control of the host. A change is slow, so it is made when an instruction needs
// another one: what is `by_mode` has that of its wave, matrix instructions and f64 have `plain`.
class HostFloat {
 public:
  static std::uint32_t current();
  static void set(std::uint32_t control);
  static std::uint32_t for_mode(std::uint32_t mode);  // f32 rounding and denormals
#if defined(__x86_64__)
  static constexpr std::uint32_t plain = 0x1f80;  // nearest even, denormals kept
#else
  static constexpr std::uint32_t plain = 0;
#endif
};

inline void use_float_control(Group& group, std::uint32_t control) {
  if (group.float_control == control) return;
  HostFloat::set(control);
  group.float_control = control;
}
inline void keep_denormals(Wave& wave) {
  use_float_control(*wave.group, HostFloat::plain);
}
inline void set_mode(Wave& wave, std::uint32_t mode) {
  wave.mode = mode;
  wave.float_control = HostFloat::for_mode(mode);
}

}  // namespace mla::gfx

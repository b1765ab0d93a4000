// Owns: the optional checks of one workgroup: results used before s_waitcnt, registers and LDS read
// before written, and LDS races between waves.
//
// Waits: each wave keeps its outstanding operations. vmcnt counts loads, stores and loads to LDS in
// order; lgkmcnt counts LDS operations in order, while scalar loads come back in any order and are
// done only at lgkmcnt(0); flat operations count in both.
// Races: a dword of LDS remembers its last writer and its readers since the last barrier of the
// workgroup. Lanes of one wave never race with each other, nor do atomics. A store that changes
// nothing is none either: compilers let several waves write what they all have.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "hip_backend/gfx_emulator/check/defined_bits.hpp"
#include "hip_backend/gfx_emulator/exec/access.hpp"
#include "hip_backend/gfx_emulator/exec/wave.hpp"

namespace mla::gfx {

class Checker {
 public:
  Checker(Group& group, const Checks& checks);

  void start_wave(const Wave& wave);  // after the initial registers have been set
  void before(Wave& wave, const Inst& inst);
  void after(Wave& wave, const Inst& inst);
  // Called by the instruction while it runs, for the lanes of `mask`.
  void lds_access(Wave& wave, const Inst& inst, const std::uint32_t* offsets, std::uint64_t mask,
                  std::uint32_t size, Intent intent);
  void barrier_passed() { ++epoch_; }

 private:
  static constexpr unsigned vectors = 512, scalars = 128;

  struct Operation {  // outstanding: it will write these registers, or LDS
    std::uint16_t first = 0, count = 0;
    std::uint32_t serial = 0;
  };
  // First in, first out.
  struct Queue {
    std::vector<Operation> items;
    std::size_t begin = 0;      // what is before has arrived
    std::uint32_t arrived = 0;  // the serial up to which everything has
    [[nodiscard]] std::size_t size() const { return items.size() - begin; }
  };
  // A register: bit 0 while nothing was written to it (vector registers; scalar ones know it bit by
  // bit), the outstanding operations on it above.
  using Register = std::uint16_t;
  static constexpr Register unwritten = 1, one_pending = 2;
  struct WaveInfo {
    std::array<Register, vectors> vector;
    std::array<Register, scalars> scalar;
    DefinedBits bits;  // scalar registers, bit by bit
    Queue vm, lgkm, smem;
  };
  // What a dword of LDS remembers, in three words each for itself: tables of 64 KiB are walked.
  struct Lds {
    std::vector<std::uint32_t> write;   // a Tag; 0: never written
    std::vector<std::uint32_t> read;    // a Tag
    std::vector<std::uint32_t> serial;  // of the last write
  };

  void wait(const Inst& inst, WaveInfo& info);
  void retire(Queue& queue, std::size_t left, Register* registers);
  enum class Use : std::uint8_t { read, copy, write };
  void check_operand(Wave& wave, const Inst& inst, std::uint16_t operand, unsigned width, Use use);
  void check_bits(Wave& wave, const Inst& inst);
  void blame_operand(Wave& wave, const Inst& inst, std::uint16_t operand, unsigned width, Use use);
  [[nodiscard]] bool copies_undefined(const Wave& wave, const Inst& inst) const;
  void read_dword(Wave& wave, const Inst& inst, std::uint32_t dword);
  void blame_read(Wave& wave, const Inst& inst, std::uint32_t dword);
  void write_dword(Wave& wave, const Inst& inst, std::uint32_t dword, bool atomic);
  void judge_writes(Wave& wave, const Inst& inst);
  [[nodiscard]] bool upper_undefined(const Wave& wave, const Inst& inst) const;
  static void mark_unwritten(const Wave& wave, WaveInfo& info, std::uint16_t operand,
                             unsigned width);
  static void mark_written(WaveInfo& info, std::uint16_t operand, unsigned width);
  [[nodiscard]] bool outstanding(std::uint32_t dword) const;
  // Whether this mistake of this instruction is new here; if not, it is counted.
  [[nodiscard]] bool is_new(const Wave& wave, const Inst& inst, Problem problem);

  // A write of the instruction in progress that is a race unless it changes nothing.
  struct Suspect {
    std::uint32_t dword, before;
    bool written;  // by another wave; else read
  };

  Checks checks_;
  std::vector<Suspect> suspects_;
  std::vector<WaveInfo> waves_;
  Lds lds_;
  std::uint32_t epoch_ = 1, serial_ = 0;
  bool copies_undefined_ = false, upper_undefined_ = false;  // the instruction in progress
  std::unordered_set<std::uint64_t> seen_;                   // place and problem
};

}  // namespace mla::gfx

// Owns: the optional checks of one workgroup: results used before s_waitcnt, registers and LDS read
// before written, and LDS races between waves.
//
// Waits: each wave keeps its outstanding operations. vmcnt counts loads, stores and loads to LDS in
// order; lgkmcnt counts LDS operations in order. Scalar loads come back in any order and are done
// only at lgkmcnt(0). Flat operations count in both, in any order with the others of either: they
// are done when both counts have been 0. The counters end at 63 and 15; whoever would pass the end
// waits until the oldest is done.
// Races: a dword of LDS remembers its last writer and its readers since the last barrier of the
// workgroup; one that is accessed in part remembers them for each byte. Lanes of one wave never
// race with each other, nor do atomics. A store that changes nothing is none either: compilers let
// several waves write what they all have.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
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
    std::uint32_t at = 0;  // the instruction
    [[nodiscard]] bool writes(unsigned reg) const { return reg - first < count; }
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
    Queue flat_vm, flat_lgkm;  // the same operations, by what they wait for
  };
  // What a dword of LDS remembers, or a byte of it.
  struct Cell {
    std::uint32_t write = 0;   // a tag; 0: never written
    std::uint32_t serial = 0;  // of the last write; of a split dword the index of its bytes' cells
    std::uint32_t writer_at = 0;
    std::uint32_t read = 0;  // a tag
    std::uint32_t reader_at = 0;
  };
  // Bytes of LDS that one lane accesses and one cell stands for.
  struct Spot {
    std::uint32_t cell, begin, size;
    int lane;
  };

  void wait(const Inst& inst, WaveInfo& info);
  void begin_operation(const Inst& inst, WaveInfo& info);
  void retire(Queue& queue, std::size_t left, Register* registers);
  enum class Use : std::uint8_t { read, copy, write };
  void check_operand(Wave& wave, const Inst& inst, std::uint16_t operand, unsigned width, Use use);
  void check_bits(Wave& wave, const Inst& inst);
  void blame_operand(Wave& wave, const Inst& inst, std::uint16_t operand, unsigned width, Use use);
  [[nodiscard]] bool copies_undefined(const Wave& wave, const Inst& inst) const;
  // The outstanding operation that writes a register, and the wait that it needs. `spared`: not
  // those that come back in order with this kind of load.
  struct Outstanding {
    const Operation* operation = nullptr;
    std::string wait;
  };
  [[nodiscard]] static Outstanding outstanding_on(const WaveInfo& info, bool vector, unsigned reg,
                                                  Class spared);
  void visit_dword(Wave& wave, const Inst& inst, const Spot& spot, Intent intent);
  void split(std::uint32_t dword);
  void read_cell(Wave& wave, const Inst& inst, const Spot& spot);
  void blame_read(Wave& wave, const Inst& inst, const Spot& spot);
  void write_cell(Wave& wave, const Inst& inst, const Spot& spot, bool atomic);
  void judge_writes(Wave& wave, const Inst& inst);
  [[nodiscard]] bool upper_undefined(const Wave& wave, const Inst& inst) const;
  static void mark_unwritten(const Wave& wave, WaveInfo& info, std::uint16_t operand,
                             unsigned width);
  static void mark_written(WaveInfo& info, std::uint16_t operand, unsigned width);
  [[nodiscard]] bool outstanding(const Cell& cell) const;
  [[nodiscard]] std::optional<Cause> cause(const Wave& wave, std::uint32_t tag,
                                           std::uint32_t at) const;
  // Whether this mistake of this instruction is new here; if not, it is counted.
  [[nodiscard]] bool is_new(const Wave& wave, const Inst& inst, Problem problem);

  // A write of the instruction in progress that is a race unless it changes nothing.
  struct Suspect {
    Spot spot;
    std::uint32_t before;   // the bytes
    bool written;           // by another wave; else read
    std::uint32_t tag, at;  // of the other access
  };

  Checks checks_;
  std::vector<Suspect> suspects_;
  std::vector<WaveInfo> waves_;
  std::vector<Cell> lds_;  // by dword, then four for each split dword
  std::uint32_t epoch_ = 1, serial_ = 0;
  bool copies_undefined_ = false, upper_undefined_ = false;  // the instruction in progress
  std::unordered_set<std::uint64_t> seen_;                   // place and problem
};

}  // namespace mla::gfx

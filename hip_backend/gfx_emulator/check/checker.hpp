// Owns: the optional checks of one workgroup: results used before s_waitcnt, registers and LDS read
// before written, and LDS races between waves. One object serves the workgroups of one host thread,
// one after the other.
//
// Waits: each wave keeps its outstanding operations. vmcnt counts loads, stores and loads to LDS in
// order; lgkmcnt counts LDS operations in order. Scalar loads come back in any order and are done
// only at lgkmcnt(0). Flat operations count in both, in any order with the others of either: they
// are done when both counts have been 0. The counters end at 63 and 15; a wave that needs more
// waits until the oldest is done. A load writes the lanes of EXEC at its issue: an instruction that
// uses other lanes of its registers has nothing to wait for. One of 16 bits takes its registers
// whole (assumption D16_OTHER_HALF).
// What other waves wrote to LDS, or read there, must have arrived when the barrier opened that lies
// between: a wait after the barrier comes too late for them.
// Races: a dword of LDS remembers its last writer and its readers since the last barrier of the
// workgroup; one that is accessed in part remembers them for each byte. Lanes of one wave never
// race with each other, nor do atomics. A store that changes nothing is none either: compilers let
// several waves write what they all have.
//
// Most instructions name only registers of which there is nothing to say, and most LDS accesses are
// of cells that were written before the last barrier: both are recognised first, by masks and by
// serial numbers, and go no further. What remains takes the exact way.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hip_backend/gfx_emulator/check/defined_bits.hpp"
#include "hip_backend/gfx_emulator/check/lds_cells.hpp"
#include "hip_backend/gfx_emulator/check/scratch_bytes.hpp"
#include "hip_backend/gfx_emulator/exec/memory/resolve.hpp"
#include "hip_backend/gfx_emulator/exec/options.hpp"
#include "hip_backend/gfx_emulator/exec/scalar_relative.hpp"
#include "hip_backend/gfx_emulator/exec/wave.hpp"
#include "hip_backend/gfx_emulator/isa/effects.hpp"
#include "hip_backend/gfx_emulator/isa/registers.hpp"

namespace mla::gfx {

class Checker final : public LdsWatch {
 public:
  Checker(Group& group, const Checks& checks);

  void start_group();
  void start_wave(const Wave& wave);  // after the initial registers have been set
  void before(Wave& wave, const Inst& inst) {
    ++serial_;  // one for the instruction: ds_write2 comes to lds_access() twice
    WaveInfo& info = waves_[wave.number];
    if (inst.kind == Class::wait) return wait(inst, info);
    plain_ = is_plain(wave, inst, info);
    if (!plain_) examine(wave, inst);
  }
  void after(Wave& wave, const Inst& inst) {
    if (!suspects_.empty()) judge_writes(wave, inst);
    if (!plain_) note_results(wave, inst);
    if (scratch_.lanes != 0) note_scratch(wave, inst);
    if (counts_as_memory(inst.kind)) begin_operation(wave, inst);
  }
  // Called by the instruction while it runs, for the lanes of `mask`.
  void lds_access(Wave& wave, const Inst& inst, const std::uint32_t* offsets, std::uint64_t mask,
                  std::uint32_t size, Intent intent) override;
  void scratch_access(Wave& wave, const std::uint32_t* offsets, std::uint64_t lanes,
                      std::uint32_t size) override;
  void barrier_passed();
  [[nodiscard]] std::uint64_t repeated() const {
    return repeated_;
  }  // findings, not reported again

 private:
  static constexpr unsigned vectors = 512, scalars = 128;

  struct Operation {  // outstanding: it will write these registers, or LDS
    std::uint16_t first = 0, count = 0;
    std::uint32_t serial = 0;
    std::uint32_t at = 0;                     // the instruction
    std::uint64_t lanes = ~std::uint64_t{0};  // whose registers it writes
    bool to_lds = false, from_lds = false;
    [[nodiscard]] bool writes(unsigned reg) const { return reg - first < count; }
  };
  // First in, first out.
  struct Queue {
    std::vector<Operation> items;
    std::size_t begin = 0;                // what is before has arrived
    std::uint32_t arrived = 0;            // the serial up to which everything has
    std::uint32_t writes = 0, reads = 0;  // of what is outstanding: to LDS, and of LDS
    void add(const Operation& operation) {
      items.push_back(operation);
      writes += operation.to_lds ? 1 : 0;
      reads += operation.from_lds ? 1 : 0;
    }
    [[nodiscard]] std::size_t size() const { return items.size() - begin; }
    [[nodiscard]] std::uint32_t settled() const { return items[begin].serial - 1; }
  };
  using Arrived = LdsCells::Arrived;
  // A register: bit 0 while nothing was written to it (vector registers; scalar ones know it bit by
  // bit), bit 1 while a lane holds a scalar with undefined bits, the outstanding operations on it
  // above.
  using Register = std::uint16_t;
  static constexpr Register unwritten = 1, undefined_lanes = 2, one_pending = 4;
  struct WaveInfo {
    std::array<Register, vectors> vector;
    std::array<Register, scalars> scalar;
    std::array<std::uint64_t, 2> loading;  // scalar registers with an outstanding operation
    DefinedBits bits;                      // scalar registers, bit by bit
    Queue vm, lgkm, smem;
    Queue flat_vm, flat_lgkm;  // the same operations, by what they wait for
    ScratchBytes scratch;
    [[nodiscard]] Arrived arrived() const {
      return {vm.arrived, lgkm.arrived, std::min(flat_vm.arrived, flat_lgkm.arrived)};
    }
  };
  // Bytes of LDS that one lane accesses and one cell stands for.
  struct Spot {
    LdsCells* cells;
    std::uint32_t cell, begin, size;
    int lane;
  };

  // Nothing is to be said of any register that the instruction names.
  bool is_plain(const Wave& wave, const Inst& inst, const WaveInfo& info) {
    if (info.bits.scc_undefined()) return false;
    // In the gpr index mode, and of a relative move, the operands are not those of the code: `inst`
    // is a copy.
    const bool moved = is_relative_move(inst) || (wave.gpr_index != 0 && inst.is_vector);
    if (moved) moved_ = effects_of(inst);
    const Effects& effects =
        moved ? moved_ : effects_.of(static_cast<std::size_t>(&inst - wave.code), inst);
    const auto& partly = info.bits.registers();
    std::uint64_t any = (effects.scalars[0] & (partly[0] | info.loading[0])) |
                        (effects.scalars[1] & (partly[1] | info.loading[1]));
    for (unsigned n = 0; n < effects.spans; ++n) {
      const Effects::Span span = effects.vectors[n];
      for (unsigned k = span.first; k < unsigned{span.first} + span.count; ++k) {
        any |= info.vector[k];
      }
    }
    return any == 0;
  }
  void examine(Wave& wave, const Inst& inst);       // before it runs
  void note_results(Wave& wave, const Inst& inst);  // after it ran
  void note_scratch(const Wave& wave, const Inst& inst);
  void wait(const Inst& inst, WaveInfo& info);
  void begin_operation(const Wave& wave, const Inst& inst);
  static void retire(Queue& queue, std::size_t left, Register* registers);
  enum class Use : std::uint8_t { read, copy, write };
  void check_operand(Wave& wave, const Inst& inst, std::uint16_t operand, unsigned width, Use use);
  void check_bits(Wave& wave, const Inst& inst);
  void blame_operand(Wave& wave, const Inst& inst, std::uint16_t operand, unsigned width, Use use);
  [[nodiscard]] bool copies_undefined(const Wave& wave, const Inst& inst) const;
  // The outstanding operation that writes a register in one of `lanes`, and the wait that it needs.
  // `spared`: not those that come back in order with this kind of load.
  struct Outstanding {
    const Operation* operation = nullptr;
    std::string wait;
  };
  [[nodiscard]] static Outstanding outstanding_on(const WaveInfo& info, bool vector, unsigned reg,
                                                  std::uint64_t lanes, Class spared);
  [[nodiscard]] LdsCells::Visit visit_of(const Wave& wave, const Inst& inst, Intent intent) const;
  template <std::uint32_t Dwords>
  std::uint64_t settled_lanes(Wave& wave, const Inst& inst, const std::uint32_t* offsets,
                              std::uint64_t mask, Intent intent);
  void visit_dword(Wave& wave, const Inst& inst, std::uint32_t begin, std::uint32_t size, int lane,
                   Intent intent);
  std::uint32_t split(std::uint32_t dword);
  void read_cell(Wave& wave, const Inst& inst, const Spot& spot);
  void blame_read(Wave& wave, const Inst& inst, const Spot& spot);
  void write_cell(Wave& wave, const Inst& inst, const Spot& spot, bool atomic);
  void judge_writes(Wave& wave, const Inst& inst);
  [[nodiscard]] bool upper_undefined(const Wave& wave, const Inst& inst) const;
  static void mark_unwritten(const Wave& wave, WaveInfo& info, std::uint16_t operand,
                             unsigned width);
  static void mark_written(WaveInfo& info, std::uint16_t operand, unsigned width);
  [[nodiscard]] bool outstanding(const Wave& wave, const LdsCell& cell) const;
  [[nodiscard]] bool read_outstanding(const Wave& wave, const LdsCell& cell) const;
  [[nodiscard]] std::optional<Cause> cause(const Wave& wave, std::uint32_t who,
                                           std::uint32_t at) const;
  // Whether this mistake of this instruction is new here; if not, it is counted.
  [[nodiscard]] bool is_new(const Wave& wave, const Inst& inst, Problem problem);

  // A write of the instruction in progress that is a mistake unless it changes nothing.
  struct Suspect {
    Spot spot;
    std::uint32_t before;   // the bytes
    bool written;           // by another wave; else read
    bool waits;             // there was a barrier, and the other had not arrived; else a race
    std::uint32_t tag, at;  // of the other access
  };

  static constexpr std::uint32_t is_split = ~std::uint32_t{0};  // a serial number

  Checks checks_;
  std::vector<Suspect> suspects_;
  std::vector<WaveInfo> waves_;
  LdsCells dwords_;
  LdsCells bytes_;  // four for each split dword, which has the index of the first as `writer_at`
  std::uint32_t epoch_ = 1, serial_ = 0;
  static constexpr LdsCells::Settled nothing_yet = {0, ~std::uint32_t{0}, {}};
  LdsCells::Settled settled_ = nothing_yet;  // when the last barrier opened
  EffectsTable effects_;
  Effects moved_;                                            // in the gpr index mode
  ScratchBytes::Access scratch_;                             // the instruction in progress
  bool writes_lds_ = false, reads_lds_ = false;              // the instruction in progress
  bool plain_ = false;                                       // the same
  bool copies_undefined_ = false, upper_undefined_ = false;  // the same
  std::vector<std::uint32_t> seen_;  // by instruction: a bit for each problem
  std::uint64_t repeated_ = 0;
};

}  // namespace mla::gfx

// Owns: the check of data that one workgroup hands to another through an atomic (`coherence`).
//
// Two compute units have no vector L1 cache in common, and maybe no L2 cache either. By the memory
// model of gfx942 and gfx950 (LLVM's "User Guide for AMDGPU Backend") what a workgroup stored
// reaches another one where three things come in this order:
// - the writer: `buffer_wbl2 sc1` after the store, and an s_waitcnt that covers it, before the
//   atomic that tells of the store. It also covers what the other waves of the workgroup had stored
//   when they met at a barrier before it, because a compute unit keeps its vector memory
//   operations in order (not in threadgroup split mode). Instead, a store or read-modify-write with
//   sc1 has to have arrived.
// - the reader: `buffer_inv sc1` after its atomic read has returned, and before the load. A load
//   with sc1 needs none.
// Any wave of a workgroup may do any of this for the others.
// A plain load before a read-modify-write of the same dword is a guess, which a compare-and-swap
// then tests: what was written by atomics is judged when the workgroup has ended without one.
// Nothing is said of accesses that no atomic orders: those are races (global_races.hpp). Of what is
// read or written with atomics on both sides only the scope is looked at. One more is lenient: a
// store that changes nothing is a store. The workgroups of a launch with this check run one after
// the other, on one host thread. Units: dwords; of one that several wrote, the last writer's bytes.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "hip_backend/gfx_emulator/check/access_scope.hpp"
#include "hip_backend/gfx_emulator/check/hand_overs.hpp"
#include "hip_backend/gfx_emulator/check/paged_cells.hpp"
#include "hip_backend/gfx_emulator/exec/memory/watch.hpp"
#include "hip_backend/gfx_emulator/exec/wave.hpp"
#include "hip_backend/gfx_emulator/isa/inst.hpp"

namespace mla::gfx {

class Operations;

class Coherence final : public GlobalWatch {
 public:
  explicit Coherence(const Operations& operations);

  void start_group(const Group& group);
  void end_group();
  void barrier_passed();
  void global_access(Wave& wave, const Inst& inst, const std::uint64_t* addresses,
                     std::uint64_t lanes, std::uint32_t size, Intent intent) override;
  // After the instruction: waits, and what is done to caches.
  void after(const Wave& wave, const Inst& inst);

 private:
  using Serials = HandOvers::Serials;
  struct Operation {                               // counted by vmcnt, and outstanding
    std::uint32_t store = 0;                       // its serial; 0: none
    std::size_t readings_begin = 0, readings = 0;  // of flags
    bool writes_back = false;
    Serials covers = {};
  };
  struct WaveInfo {
    std::deque<Operation> outstanding;
    std::uint32_t stored = 0;      // serials
    std::uint32_t at_barrier = 0;  // the one of the last barrier
  };
  struct Cell {  // who wrote a dword last
    std::uint32_t party = 0, serial = 0, at = 0;
    std::uint8_t wave = 0;
    std::uint8_t bytes = 0;  // which of them
    Scope scope = Scope::none;
  };
  struct Access {
    std::uint64_t address = 0;  // of the dword
    std::uint8_t bytes = 0;
    int lane = 0;
    Intent intent = Intent::read;
    Scope scope = Scope::none;
  };

  struct Mistake {
    Wave* wave = nullptr;
    Inst inst;
    Access access;
    Cell cell;
    HandOvers::Known known;
    Problem problem = Problem::missing_release;
  };

  void visit(Wave& wave, const Inst& inst, const Access& access);
  void judge(Wave& wave, const Inst& inst, const Access& access, const Cell& cell);
  void report(const Mistake& mistake) const;
  [[nodiscard]] bool released(const Cell& cell, HandOvers::Time time) const;
  void retire(std::uint32_t wave, std::size_t left);

  int write_back_, invalidate_;  // indices of operations
  HandOvers hand_overs_;
  HandOvers::Stores stores_;  // of the running workgroup
  std::vector<WaveInfo> waves_;
  PagedCells<Cell> cells_;
  std::unordered_map<std::uint64_t, Mistake> guesses_;  // by address: unless an atomic follows
  std::uint32_t storing_ = 0;                           // the serial of the instruction in progress
  std::size_t readings_ = 0;                            // before it
};

}  // namespace mla::gfx

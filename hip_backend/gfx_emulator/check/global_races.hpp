// Owns: which waves of a launch touched each dword of global memory, and races between them.
//
// Two accesses race if one of them writes, at least one is not atomic, and nothing orders them.
// Within a workgroup barriers order; between workgroups of one launch only atomics do: who uses an
// atomic on what another workgroup used an atomic on comes after everything that the other did
// (so accesses after the other's atomic are taken for ordered too, and such races are missed).
// Loads and stores with the scope bits sc0 or sc1 count as atomic within the workgroup, with sc1
// between workgroups. A store that changes nothing is no race, as in LDS. Accesses of a part of a
// dword are kept byte by byte. A dword needs 16 bytes, of each page that is touched.
// The workgroups of a launch with this check run one after the other, on one host thread.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "hip_backend/gfx_emulator/check/access_scope.hpp"
#include "hip_backend/gfx_emulator/check/paged_cells.hpp"
#include "hip_backend/gfx_emulator/exec/memory/resolve.hpp"
#include "hip_backend/gfx_emulator/exec/wave.hpp"

namespace mla::gfx {

class GlobalRaces final : public GlobalWatch {
 public:
  void start_group(const Group& group);
  void barrier_passed() { ++epoch_; }
  void global_access(Wave& wave, const Inst& inst, const std::uint64_t* at, std::uint64_t lanes,
                     std::uint32_t size, Intent intent) override;
  // After the instruction: what has it changed?
  void after(Wave& wave, const Inst& inst);

 private:
  struct Visit {              // who, when and how
    std::uint32_t group = 0;  // counted from 1; 0: none
    std::uint32_t epoch = 0;
    std::uint32_t at = 0;  // the instruction
    std::uint8_t wave = 0;
    Scope scope = Scope::none;
    bool more = false;  // of readers: several waves
  };
  // A visit in 64 bits: epoch 32, more 1, scope 2, wave 4, and a quarter of `at` in 25. The group
  // follows from the epoch, because each group begins with a new one. 0: none.
  using Packed = std::uint64_t;
  static constexpr unsigned epoch_shift = 32, wave_shift = 25, scope_shift = 29;
  static constexpr Packed more_bit = Packed{1} << 31, far_away = (1U << 25) - 1;
  struct Cell {
    Packed writer = 0, reader = 0;
  };
  static constexpr Packed is_split = ~Packed{0};  // a writer; the reader is the index of the bytes
  struct Suspect {
    std::uint64_t address = 0;
    std::uint32_t size = 0, before = 0;
    int lane = 0;
    Visit other;
    bool written = false;  // by the other; else read
  };

  [[nodiscard]] static Packed pack(const Visit& visit);
  [[nodiscard]] Visit unpack(Packed packed) const;
  // Whether no other access has to be looked at: never visited, or ordered before by a barrier, or
  // the same wave.
  [[nodiscard]] bool settled(Packed visit, Packed now, Packed epoch) const {
    const bool same_wave = ((visit ^ now) >> wave_shift & 15) == 0 && (visit & more_bit) == 0;
    return visit == 0 || (visit >= group_begin_ && (visit < epoch || same_wave));
  }
  bool note_settled(Cell& cell, Packed now, Packed epoch, Intent intent) const;
  void visit_lane(Wave& wave, const Inst& inst, Suspect spot, std::uint64_t end, const Visit& now,
                  Intent intent);
  void visit(Wave& wave, const Inst& inst, Cell& cell, const Suspect& spot, const Visit& now,
             Intent intent);
  [[nodiscard]] bool race(const Visit& other, const Visit& now) const;
  void order(std::uint64_t address, const Visit& now);
  void report(Wave& wave, const Inst& inst, const Suspect& suspect) const;

  PagedCells<Cell> dwords_;
  std::vector<std::array<Cell, 4>> bytes_;                   // of dwords that were accessed in part
  std::vector<std::uint32_t> begins_ = {0};                  // the first epoch of each group
  Packed group_begin_ = 0;                                   // of the running one
  std::vector<std::array<std::uint32_t, 3>> groups_ = {{}};  // ids, by number
  std::vector<std::set<std::uint32_t>> before_ = {{}};       // groups that are ordered before one
  std::unordered_map<std::uint64_t, Visit> atomics_;         // the last one on each dword
  std::vector<Suspect> suspects_;
  std::uint32_t epoch_ = 1;
};

}  // namespace mla::gfx

// Owns: the optional checks of one workgroup: results used before s_waitcnt, registers and LDS read
// before written, and LDS races between waves.
//
// Waits: each wave keeps its outstanding operations. vmcnt counts loads, stores and loads to LDS in
// order; lgkmcnt counts LDS operations in order, while scalar loads come back in any order and are
// done only at lgkmcnt(0); flat operations count in both.
// Races: a dword of LDS remembers its last writer and its readers since the last barrier of the
// workgroup. Lanes of one wave never race with each other, nor do atomics.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <vector>

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
  static constexpr std::uint32_t several = ~std::uint32_t{0};

  struct Operation {  // outstanding: it will write these registers, or these dwords of LDS
    std::uint16_t first = 0, count = 0;
    std::uint32_t serial = 0;
    std::vector<std::uint32_t> dwords;
  };
  using Queue = std::vector<Operation>;
  struct WaveInfo {
    std::bitset<vectors> written;
    std::bitset<scalars> scalar_written;
    std::array<std::uint16_t, vectors> pending{};  // outstanding operations on a register
    std::array<std::uint16_t, scalars> scalar_pending{};
    Queue vm, lgkm, smem;
  };
  struct Dword {
    std::uint32_t written_epoch = 0, writer = 0;  // epoch 0: never written
    std::uint32_t read_epoch = 0, reader = 0;
    std::uint32_t serial = 0;  // of the write that may not have arrived; 0: it has
    bool by_atomic = false, by_load = false;
  };

  void wait(const Inst& inst, WaveInfo& info);
  void retire(Queue& queue, std::size_t left, WaveInfo& info, bool scalar);
  void check_operand(Wave& wave, const Inst& inst, std::uint16_t operand, unsigned width,
                     bool write);
  void check_read(Wave& wave, const Inst& inst, std::uint32_t dword);
  void check_write(Wave& wave, const Inst& inst, std::uint32_t dword, bool atomic);
  void mark_written(WaveInfo& info, std::uint16_t operand, unsigned width);

  Checks checks_;
  std::vector<WaveInfo> waves_;
  std::vector<Dword> lds_;
  std::uint32_t epoch_ = 1, serial_ = 0;
  std::vector<std::uint32_t> touched_;  // dwords written by the instruction in progress
};

}  // namespace mla::gfx

// Owns: operations on memory that have been issued and have not taken effect.
//
// An operation keeps what it reads at its issue: addresses, data, EXEC and M0. It reads and writes
// memory, and sets its registers, when it takes effect; until then they hold what they held. An
// s_waitcnt lets take effect what it promises: the oldest operations of vmcnt, the oldest LDS
// operations of lgkmcnt, FLAT and scalar loads where the count is 0. Arrival says what takes effect
// sooner. One object serves the workgroups of one host thread, one after the other.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "hip_backend/gfx_emulator/exec/options.hpp"
#include "hip_backend/gfx_emulator/exec/wave.hpp"

namespace mla::gfx {

class LateMemory {
 public:
  explicit LateMemory(const Arrival& arrival);

  void start_group(const Group& group);
  void begin(Wave& wave, const Inst& inst);  // instead of executing it
  void wait(Wave& wave, const Inst& inst);   // an s_waitcnt
  void arrive(Wave& wave) {                  // after every instruction: what is due
    if (wave.executed >= queues_[wave.number].next_due) land_due(wave);
  }
  void finish(Wave& wave);  // the wave has ended

 private:
  struct Operation {
    Inst inst;                              // its operands are registers of the stand-in
    std::uint16_t dst = code::none;         // its result is for these registers
    bool vm = false, lgkm = false;          // counted, and not waited for
    bool ordered = false;                   // in its counter
    bool done = false;                      // memory has been read and written
    std::uint64_t due = ~std::uint64_t{0};  // in executed instructions of the wave
    std::uint64_t executed = 0, exec = 0;
    std::uint32_t m0 = 0, mode = 0;
    std::array<std::uint32_t, 5> scalars = {};  // base or descriptor, then the scalar offset
    std::vector<std::uint32_t> rows;            // of the vector sources; later of the result
  };
  struct Queue {
    std::deque<Operation> operations;  // in the order of their issue
    std::uint64_t next_due = ~std::uint64_t{0};
    std::uint64_t last_vm = 0, last_lds = 0;  // when the newest ordered one is due
    std::uint64_t random = 0;
  };

  std::uint64_t draw_due(Queue& queue, const Wave& wave);
  void keep_operands(const Wave& wave, Operation& operation) const;
  void lend_operands(const Wave& wave, const Operation& operation);
  void carry_out(Wave& wave, Operation& operation);
  void land(Wave& wave, std::size_t index);
  void land_due(Wave& wave);
  void land_down_to(Wave& wave, bool vm, std::size_t left);
  [[nodiscard]] static std::size_t next_to_land(const Queue& queue, bool vm, bool promised);
  void note_next(Queue& queue);

  Arrival arrival_;
  std::vector<Queue> queues_;       // by wave
  std::unique_ptr<Wave> stand_in_;  // executes operations with the operands they were issued with
};

}  // namespace mla::gfx

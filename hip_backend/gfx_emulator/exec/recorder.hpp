// Recorder: what every instruction of a launch did, and how the waves of one workgroup went on.
//
// Counts belong to the instruction that moved the bytes, so memory has to answer at once. The clock
// of a wave is the number of instructions that it executed; a barrier sets all waves of the
// workgroup to the latest. One recorder for each host thread; what it has is added up at the end.
#pragma once

#include <vector>

#include "core/lifetime.hpp"
#include "hip_backend/gfx_emulator/exec/options.hpp"
#include "hip_backend/gfx_emulator/exec/wave.hpp"
#include "hip_backend/gfx_emulator/report/report.hpp"

namespace mla::gfx {

class Recorder {
 public:
  explicit Recorder(const Launch& launch MLA_LIFETIME_BOUND);

  void start_group(const Group& group);
  // Around one instruction of a wave.
  void before(const Wave& wave) { lanes_ = wave.exec(); }
  void after(const Wave& wave, const Inst& inst);
  void barrier_passed();
  // A fault or a finding of the instruction.
  void found(const Wave& wave, const Inst& inst, Problem problem);
  void end_group();
  // Under the launch's lock.
  void add_to(Launch& launch);

 private:
  struct Track {                // of a wave
    std::uint64_t clock = 0;    // instructions, and what it waited at barriers
    std::uint64_t arrived = 0;  // at the barrier
    bool waits = false;
    TraceEvent run;  // instructions of one kind that are not told apart; count 0: none
  };
  void count(const Inst& inst, InstructionCount& c);
  void follow(const Wave& wave, const Inst& inst);
  void close(Track& track);
  void add(TraceEvent event);

  const Launch& launch_;
  const Group* group_ = nullptr;
  std::uint64_t lanes_ = 0;  // EXEC before the instruction
  Statistics last_;
  std::vector<InstructionCount> counts_;  // by index; empty: not asked for
  bool follows_ = false;                  // this workgroup
  std::vector<Track> tracks_;
  std::vector<TraceEvent> events_;
  std::uint64_t dropped_ = 0;
};

}  // namespace mla::gfx

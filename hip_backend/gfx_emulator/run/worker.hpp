// Owns: what is needed to run workgroups, one after the other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hip_backend/gfx_emulator/check/checker.hpp"
#include "hip_backend/gfx_emulator/check/coherence.hpp"
#include "hip_backend/gfx_emulator/check/fresh_memory.hpp"
#include "hip_backend/gfx_emulator/check/global_races.hpp"
#include "hip_backend/gfx_emulator/check/lane_watch.hpp"
#include "hip_backend/gfx_emulator/exec/launch_state.hpp"
#include "hip_backend/gfx_emulator/exec/recorder.hpp"
#include "hip_backend/gfx_emulator/run/late_memory.hpp"
#include "hip_backend/gfx_emulator/run/patience.hpp"
#include "hip_backend/gfx_emulator/run/scheduler.hpp"
#include "hip_backend/gfx_emulator/run/start.hpp"

namespace mla::gfx {

class Worker {
 public:
  // Those of the launch, and the caller's; null: not asked for.
  Worker(Launch& launch, unsigned waves, GlobalRaces* races, Coherence* coherence,
         GlobalWatch* watch);

  void start(Launch& launch, std::array<std::uint32_t, 3> id);
  // Runs the workgroup to its end, or until it waits for another one. It may be called again then.
  [[nodiscard]] Turned go_on(bool may_wait);
  // Ends the launch: so many workgroups wait, and nothing has changed for so many instructions.
  void give_up(std::size_t waiting, std::uint64_t limit);
  // Under the launch's lock. Executed operations, by class for the statistics and by name for the
  // assumptions.
  void add_to(Launch& launch);

 private:
  std::vector<std::unique_ptr<Wave>> waves_;
  std::vector<std::byte> scratch_;
  std::unique_ptr<LateMemory> late_;  // null: memory answers at once
  EffectsTable effects_;
  std::unique_ptr<Recorder> recorder_;  // null: no profile or trace is wanted
  std::unique_ptr<Checker> checker_;    // null: no check wants to see every instruction
  std::unique_ptr<LaneWatch> lanes_;    // null: not asked for
  std::unique_ptr<FreshMemory> fresh_;  // null: not asked for, or no memory is fresh
  GlobalRaces* races_;
  Coherence* coherence_;
  GlobalWatch* watch_;
  GlobalWatches watches_;
  Patience patience_;
  Group group_;
};

}  // namespace mla::gfx

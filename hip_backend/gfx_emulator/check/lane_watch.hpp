// Owns: the optional check of lanes that are missing: from a barrier, and from what other lanes
// read of them.
//
// The waves of one workgroup; one object serves the workgroups of one host thread, one after the
// other.
//
// Barriers: a lane that is not active when its wave comes to a barrier has left the program, or has
// gone around the barrier. It went around it if it accesses memory or LDS later, and that is
// reported, at the barrier. A lane that has left never does.
// Shuffles: ds_bpermute and DPP give 0, or what the register held, in place of a lane that is not
// active. That is reported where the workgroup has the lane. v_readlane reads the register of any
// lane: what is reported is a lane of which nothing has ever been written.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "hip_backend/gfx_emulator/exec/wave.hpp"

namespace mla::gfx {

class LaneWatch {
 public:
  explicit LaneWatch(const Group& group);

  void start_wave(const Wave& wave);  // after the initial registers have been set
  // Both with the instruction whose operands are those that it has now.
  void before(Wave& wave, const Inst& inst);
  void after(const Wave& wave, const Inst& inst);

 private:
  static constexpr unsigned vectors = 512;
  struct WaveInfo {
    std::uint64_t there = 0;    // lanes that the workgroup has
    std::uint64_t around = 0;   // of them those that did not come to the barrier
    std::uint32_t barrier = 0;  // the last one with such lanes: the place of the instruction
    std::array<std::uint64_t, vectors> written;  // lanes of which something was
  };
  void blame_barrier(Wave& wave, const Inst& inst, WaveInfo& info) const;
  void pull(Wave& wave, const Inst& inst, const WaveInfo& info) const;
  void dpp(Wave& wave, const Inst& inst, const WaveInfo& info) const;
  void read_lane(Wave& wave, const Inst& inst, const WaveInfo& info) const;

  int bpermute_, readlane_;  // operations
  std::vector<WaveInfo> waves_;
};

}  // namespace mla::gfx

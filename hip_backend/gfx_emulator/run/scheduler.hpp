// Owns: in which order the waves of a workgroup take turns, and what a turn is.
//
// One host thread runs one workgroup. Waves take turns of `slice` instructions, round robin, in
// reverse, or shuffled by the seed in every round; a wave at a barrier waits until every wave that
// has not ended is there. A launch that has been stopped ends after the current instruction.
#pragma once

#include "hip_backend/gfx_emulator/exec/wave.hpp"

namespace mla::gfx {

class Checker;
class Coherence;
class GlobalRaces;
class LaneWatch;
class LateMemory;

// What goes along with the waves; null where it is not asked for.
struct Attached {
  Checker* checker = nullptr;
  GlobalRaces* races = nullptr;
  Coherence* coherence = nullptr;
  LateMemory* late = nullptr;
  LaneWatch* lanes = nullptr;  // only with a checker
};

void run_workgroup(Group& group, const Attached& attached);

}  // namespace mla::gfx

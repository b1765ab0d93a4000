// Owns: in which order the waves of a workgroup take turns, and what a turn is.
//
// Waves take turns of `slice` instructions, round robin, in reverse, or shuffled by the seed in
// every round; a wave at a barrier waits until every wave that has not ended is there. A launch
// that has been stopped ends after the current instruction.
#pragma once

#include <cstdint>
#include <string>

#include "hip_backend/gfx_emulator/exec/wave.hpp"

namespace mla::gfx {

class Checker;
class Coherence;
class GlobalRaces;
class LaneWatch;
class LateMemory;
class Patience;

// What goes along with the waves; null where it is not asked for.
struct Attached {
  Checker* checker = nullptr;
  GlobalRaces* races = nullptr;
  Coherence* coherence = nullptr;
  LateMemory* late = nullptr;
  LaneWatch* lanes = nullptr;    // only with a checker
  Patience* patience = nullptr;  // null: it runs to its end
};

enum class Ending : std::uint8_t { ended, waits };
struct Turned {
  Ending ending = Ending::ended;
  // Of one that waits: instructions of this call, and whether none changed what others may see.
  std::uint64_t executed = 0;
  bool idle = false;
};
// Runs it to its end, or until it waits for another one (patience.hpp); it may be called again
// then.
Turned run_workgroup(Group& group, const Attached& attached);

// The fault of a launch that does not end; `why` says what happened.
void report_limit(Wave& wave, const std::string& why);

}  // namespace mla::gfx

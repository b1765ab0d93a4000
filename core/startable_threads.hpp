// How many threads this process can have.
#pragma once

namespace mla {

// Threads beyond these are no help on any machine, and a run time that keeps a table of them on its
// stack overflows it.
inline constexpr int kMostThreads = 4096;

// As many of `wanted` as can be alive at once, the calling one among them: at least 1 and at most
// kMostThreads. An OpenMP run time ends the process where it cannot start one, with the exit code
// of a failed property. The first question after so many starts them, which takes 20 us each.
int startable_threads(int wanted);

}  // namespace mla

// What a process asks of the emulated device beside HIP: memory with names, and what went wrong.
// For libraries that bring their own memory, as Python's tensors are, and their own errors.
#pragma once

#include <cstddef>

#include "runtime_types.h"

#pragma GCC visibility push(default)
extern "C" {
// Kernels may touch these bytes from now on. A fault names the range; a range that begins there is
// replaced. hipErrorInvalidValue: it overlaps another.
hipError_t hipTestbedAddRange(void* base, std::size_t bytes, const char* name);
// hipErrorInvalidValue: none begins there that was added so.
hipError_t hipTestbedRemoveRange(void* base);
// As on a GPU, a launch that goes wrong says hipSuccess from now on (or no longer); what happened
// is kept for hipTestbedTakeFaults().
hipError_t hipTestbedDeferFaults(int defer);
// What went wrong since the last call, a line each, with what checks found; at most `bytes` with
// the zero at the end. The number of lines, which is 0 when nothing went wrong.
int hipTestbedTakeFaults(char* text, std::size_t bytes);
// What the device's properties answer from now on. hipErrorInvalidValue: not 1 to 1024.
hipError_t hipTestbedSetUnits(int units);
// How launches run from now on, in the words of --checks, --schedule, --arrival and --matrix; NULL
// and "" stand for the default of each. Races in global memory are no mistakes here.
// hipErrorInvalidValue: other words, which hipTestbedTakeFaults() tells.
hipError_t hipTestbedSetRun(const char* checks, const char* schedule, const char* arrival,
                            const char* matrix);
// The kernels that were launched since the last call, demangled, without arguments: a line each in
// their order, the first 1024; at most `bytes` with the zero at the end. The number of lines.
int hipTestbedTakeLaunches(char* text, std::size_t bytes);
// Launches and wave instructions since the process began.
void hipTestbedCount(unsigned long long* launches, unsigned long long* instructions);
}
#pragma GCC visibility pop

// A device that executes the machine code of gfx942 or gfx950 on the CPU, through mla::gfx.
//
// Memory is host memory in named ranges, and an access outside all of them is a fault that names
// kernel, instruction and address. Launches on a stream run at once; a graph is the list of
// launches and copies that were recorded. What the checks of the emulator find (results used before
// they are waited for, races in LDS, registers read before they are written) is a fault like any
// other; only races in global memory are mere notes where the kernel is none of this project's.
// Fails: as the emulator says; after a fault the device goes on working.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/arch.hpp"
#include "hip_backend/device/device.hpp"
#include "hip_backend/gfx_emulator/launch.hpp"

namespace mla::hip {

struct EmulatedOptions {
  // How every launch runs. Its schedule and arrival are those of launches without a drawn timing.
  gfx::RunOptions run = {};
  // Called after every launch, with the kernel's name.
  std::function<void(std::string_view kernel, const gfx::LaunchReport& report)> observe = {};
  // Threads that call get devices of their own; `observe` is then called by all of them.
  bool one_for_each_thread = false;
};

// A legal timing that is drawn from a seed. The seed 0 stands for turns of 4 and early memory.
struct DrawnTiming {
  gfx::Schedule schedule;  // random order, turns of 1, 4 or 64 instructions or to the next barrier
  gfx::Arrival arrival;    // early, late or random
};
DrawnTiming drawn_timing(std::uint64_t seed);
// How a launch runs that would run as `run`, under this timing.
gfx::RunOptions timed(gfx::RunOptions run, const LaunchTiming& timing);
// The same in the words of the command line: "--schedule slice=64,order=shuffled.7 --arrival late".
std::string timing_words(std::uint64_t seed);

std::unique_ptr<Device> make_emulated_device(Arch arch, const EmulatedOptions& options);

}  // namespace mla::hip

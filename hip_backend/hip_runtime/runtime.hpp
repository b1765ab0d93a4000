// Owns: a HIP runtime with one device, the gfx emulator. A HIP program that clang compiled against
// hip/hip_runtime.h links to it, and its `kernel<<<...>>>()` runs the embedded machine code here.
//
// Device addresses are host addresses. A kernel may touch what hipMalloc gave out and what the
// caller adds to memory(); anything else is a fault. Everything is done when a call returns, unless
// its stream is captured. Threads take turns at HIP's calls; the functions below are for one
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hip_backend/gfx_emulator/launch.hpp"

namespace mla::hip_runtime {

struct Device {
  int units =
      0;  // compute units, as hipGetDeviceProperties says them; 0: 304 of gfx942, 256 of 950
  gfx::RunOptions options = {};
  bool stream_races = false;  // works of streams and graphs that touch the same memory unordered
};
// What programs see from now on, whatever the environment says. The architecture is that of the
// code object in the program.
void set_device(const Device& device);

[[nodiscard]] gfx::Memory& memory();
inline constexpr std::size_t most_memory = std::size_t{8} << 30;  // bytes, as programs see it

inline constexpr std::size_t kMostNamedLaunches = 1024;
// What was launched since the last call, and what went wrong. What is not taken when the program
// ends is printed to stderr.
struct Launched {
  std::uint64_t launches = 0, instructions = 0;
  std::vector<std::string> kernels;  // as their code names them, the first kMostNamedLaunches
  std::vector<std::string> faults, findings;  // a sentence each; a refused launch is a fault
  std::map<std::string, std::string> notes;   // by kernel: its first one, not held against it
};
[[nodiscard]] Launched take_launched();

}  // namespace mla::hip_runtime

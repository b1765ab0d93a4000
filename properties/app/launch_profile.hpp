// LaunchProfile: what launches on an emulated device did at each instruction, and how the waves of
// one workgroup went on.
//
// Fails: with the option, its value and those expected.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hip_backend/gfx_emulator/launch.hpp"

namespace mla::app {

// Launches in the order in which they were noted.
class LaunchProfile {
 public:
  void note(std::string_view kernel, const gfx::LaunchReport& report);
  // The disassembly of each kernel, with what all of its launches did at every instruction.
  [[nodiscard]] std::string annotated() const;
  // Trace Event JSON: a process for each of the first launches, a track for each wave.
  [[nodiscard]] std::string trace() const;
  // Whether a launch had the workgroup that was to be followed.
  [[nodiscard]] bool traced() const { return !traced_.empty(); }

 private:
  struct Annotated {
    std::int64_t launches = 0;
    std::map<std::uint64_t, gfx::ProfileLine> lines;  // by the offset in the image
  };
  struct Traced {
    std::string kernel;
    std::vector<gfx::TraceEvent> events;
  };
  std::map<std::string, Annotated, std::less<>> kernels_;
  std::vector<Traced> traced_;
  std::size_t events_ = 0;     // of these
  std::int64_t left_out_ = 0;  // launches
  std::uint64_t dropped_ = 0;  // events
};

}  // namespace mla::app

// LaunchProfile: what launches on an emulated device did at each instruction, and how the waves of
// one workgroup went on.
//
// Private to properties/cli. Fails: with the option, its value and what would do.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "hip_backend/gfx_emulator/launch.hpp"
#include "properties/cli/emulation.hpp"
#include "properties/cli/publisher.hpp"

namespace mla::cli {

class Command;

struct ProfileOptions {
  std::string annotate;  // the file; empty: none
  std::string trace;     // likewise
  std::string workgroup = "0,0,0";
  [[nodiscard]] bool given() const { return !annotate.empty() || !trace.empty(); }
};

void add_profile_options(Command& command, ProfileOptions& options);

// Makes the launches record what the options ask for. Fails where memory answers late, for a
// device that is not emulated, and for files that cannot be written.
Status ask_for_profile(const ProfileOptions& options, std::string_view device,
                       EmulationChoice& choice);

// Launches in the order in which they were noted.
class LaunchProfile {
 public:
  void note(std::string_view kernel, const gfx::LaunchReport& report);
  // The disassembly of each kernel, with what all of its launches did at every instruction.
  [[nodiscard]] std::string annotated() const;
  // Trace Event JSON: a process for each of the first launches, a track for each wave.
  [[nodiscard]] std::string trace() const;
  // Writes the files that are named. A trace is lost if no launch had the workgroup that was to be
  // followed.
  void publish(const ProfileOptions& options, Publisher& out) const;

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

}  // namespace mla::cli

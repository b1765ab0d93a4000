// The options that say on what backends run: a device, an installation of AITER, the emulator; and
// those that ask for a profile of the launches on an emulated device.
//
// Private to properties/cli. Fails: with the option, its value and what would do.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "properties/app/backends.hpp"
#include "properties/app/launch_profile.hpp"
#include "properties/cli/publisher.hpp"

namespace mla::cli {

class Command;

// Declares --device, --aiter-hsa (by default the environment's AITER_HSA), --aiter,
// --aiter-opus, and what an emulated device takes.
void add_device_options(Command& command, app::DeviceChoice& choice);
void add_aiter_option(Command& command, std::string& directory);
void add_tree_option(Command& command, std::string& directory);
void add_emulation_options(Command& command, app::EmulationChoice& choice);

struct ProfileOptions {
  std::string annotate;  // the file; empty: none
  std::string trace;     // likewise
  std::string workgroup = "0,0,0";
  [[nodiscard]] bool given() const { return !annotate.empty() || !trace.empty(); }
};

void add_profile_options(Command& command, ProfileOptions& options);

// Makes the launches record what the options ask for. Fails where memory answers late, for a
// device that is not emulated, and for files that cannot be written.
MaybeError ask_for_profile(const ProfileOptions& options, std::string_view device,
                           app::EmulationChoice& choice);

// Writes the files that are named. A trace is lost if no launch had the workgroup that was to be
// followed.
void publish_profile(const app::LaunchProfile& profile, const ProfileOptions& options,
                     Publisher& out);

}  // namespace mla::cli

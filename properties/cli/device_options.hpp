// The options that say on what backends run: a device, an installation of AITER, the emulator.
//
// Private to properties/cli. The values are read by make_backends() and read_emulation().
#pragma once

#include <string>

#include "properties/app/backends.hpp"

namespace mla::cli {

class Command;

// Declares --device, --aiter-hsa with the environment's AITER_HSA behind it, --aiter-reduce,
// --aiter-opus, and what an emulated device takes.
void add_device_options(Command& command, app::DeviceChoice& choice);
void add_aiter_option(Command& command, std::string& directory);
void add_emulation_options(Command& command, app::EmulationChoice& choice);

}  // namespace mla::cli

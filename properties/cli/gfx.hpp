// `mla-testbed gfx`: any code object of gfx942 or gfx950, alone.
//
// Owns: the options of its three commands. Fails: with one sentence for a file that is no code
// object, another architecture, and a kernel that is not there.
#pragma once

#include <string>

#include "properties/app/emulation.hpp"
#include "properties/cli/device_options.hpp"
#include "properties/step/verdict.hpp"

namespace mla::cli {

class Command;

void add_gfx(Command& app, prop::ExitCode& exit);

struct GfxOptions {
  std::string object;
  std::string kernel;  // empty: all; of run: the only one
  bool json = false;
  bool sarif = false;  // of check
  // run
  std::string grid = "1", block, arguments;
  std::string dynamic_lds = "0";
  std::string limit;  // empty: that of the environment
  app::EmulationChoice emulation;
  ProfileOptions profile;
};

prop::ExitCode gfx_run(const GfxOptions& options);

}  // namespace mla::cli

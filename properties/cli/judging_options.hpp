// JudgingOptions: what `run` and `cross-check` take alike, and the run that it asks for.
//
// Private to properties/cli. Fails: begin_judging() prints why and gives the exit code.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "properties/files/output_file.hpp"
#include "properties/judge/run_options.hpp"

namespace mla::cli {

class Command;

// What of a run is printed and written.
struct Publication {
  bool json = false;
  std::string junit;  // empty: none
  std::string html;   // empty: none
  bool timing = false;
};

struct JudgingOptions {
  std::string time;   // for random cases; empty, or together with `cases`: no limit
  std::string cases;  // how many random ones; empty: none
  std::string seed = "1";
  std::vector<std::string> properties;  // empty: all, and the canary
  std::vector<std::string> case_files;
  std::string ledger;  // empty: none
  std::string memory;  // empty: what is available
  std::string shard;   // empty: all cases
  std::string record;  // empty: no record is written
  bool no_progress = false;
  Publication publication;
};

// Declares them; `--property` only if the command lets its user choose.
void add_judging_options(Command& command, JudgingOptions& options, bool choose_properties);

// Those of them that say what is printed and written.
void add_publication_options(Command& command, JudgingOptions& options);

// The files that they name and the run reads.
std::vector<files::Input> inputs_of(const JudgingOptions& options);

// The run without its backends.
std::variant<prop::RunOptions, prop::ExitCode> begin_judging(std::string_view command,
                                                             const JudgingOptions& options);

}  // namespace mla::cli

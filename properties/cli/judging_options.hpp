// JudgingOptions: what `run` and `cross-check` take alike, and the run that it asks for; how
// options become a recording, and a recording options again.
//
// Private to properties/cli. Fails: begin_judging() prints why and gives the exit code.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/result.hpp"
#include "properties/app/recording.hpp"
#include "properties/cli/publisher.hpp"
#include "properties/files/output_file.hpp"
#include "properties/judge/run_options.hpp"
#include "properties/step/verdict.hpp"

namespace mla::cli {

class Command;
class CommandLine;

struct JudgingOptions {
  std::string time;   // for random cases; empty, or together with `cases`: no limit
  std::string cases;  // how many random ones; empty: none
  std::string seed = "1";
  bool widths = false;
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

// The command that errors name: a merge goes the way of the command that made the records.
inline std::string_view command_of(const app::Recording& recording, std::string_view own) {
  return recording.only_answered ? "merge" : own;
}

// The options of a command line that decide what is judged, defaults left out. Where AITER lies is
// none of them: it may come from the environment, and differs from machine to machine.
std::vector<std::string> deciding_arguments(const Command& command);
// A new recording of `command`; nothing is written if no file is named.
Result<app::Recording> begin_recording(std::string_view command, const JudgingOptions& options,
                                       const Command& app);

// Reads the arguments of a recording into the options that `app` declares; `how` says what is
// printed and written.
MaybeError take_recorded(CommandLine& app, const app::Recording& recording,
                         const JudgingOptions& how, JudgingOptions& options);

// The recorded run again: what has an answer is not judged. `how` says what is printed and written.
prop::ExitCode run_recorded(app::Recording recording, const JudgingOptions& how);
prop::ExitCode cross_check_recorded(app::Recording recording, const JudgingOptions& how);

}  // namespace mla::cli

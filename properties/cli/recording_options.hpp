// How options become a recording, and a recording options again.
//
// Private to properties/cli. Fails: with the option or the file and what is wrong there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "properties/app/recording.hpp"
#include "properties/step/verdict.hpp"

namespace mla::cli {

class Command;
class CommandLine;
struct JudgingOptions;

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
Status take_recorded(CommandLine& app, const app::Recording& recording, const JudgingOptions& how,
                     JudgingOptions& options);

// The recorded run again: what has an answer is not judged. `how` says what is printed and written.
prop::ExitCode run_recorded(app::Recording recording, const JudgingOptions& how);
prop::ExitCode cross_check_recorded(app::Recording recording, const JudgingOptions& how);

}  // namespace mla::cli

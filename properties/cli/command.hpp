// The subcommands of `mla-testbed`, one file each.
//
// `add_<name>` declares options and help; the callback that runs after parsing writes the
// exit code. Data goes to stdout, messages to stderr. Fails: a callback never throws; exit codes
// are prop::ExitCode.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "properties/app/selection.hpp"
#include "properties/step/verdict.hpp"

namespace mla::cli {

class Command;

void add_run(Command& app, prop::ExitCode& exit);
void add_merge(Command& app, prop::ExitCode& exit);
void add_replay(Command& app, prop::ExitCode& exit);
void add_plan(Command& app, prop::ExitCode& exit);
void add_show(Command& app, prop::ExitCode& exit);
void add_check(Command& app, prop::ExitCode& exit);
void add_support(Command& app, prop::ExitCode& exit);
void add_time(Command& app, prop::ExitCode& exit);
void add_cross_check(Command& app, prop::ExitCode& exit);
void add_fuzz(Command& app, prop::ExitCode& exit);
void add_plants(Command& app, prop::ExitCode& exit);
void add_assumptions(Command& app, prop::ExitCode& exit);
void add_aiter(Command& app, prop::ExitCode& exit);
void add_rocm(Command& app, prop::ExitCode& exit);
void add_completion(Command& app, prop::ExitCode& exit);
void add_env(Command& app, prop::ExitCode& exit);

// Becomes the Python program that a command line is for; returns only where it cannot be started.
// Nothing: the words are this program's.
std::optional<prop::ExitCode> run_in_python(int argc, char** argv);

// Prints `mla-testbed <command>: <message>` to stderr, whatever the message quotes in printable
// characters. The command is empty for what the program itself prints, such as its help.
void note(std::string_view command, std::string_view message);

// Notes the error and gives the exit code that belongs to it: usage 2, environment 3, a refused
// case 10.
prop::ExitCode complain(std::string_view command, const Error& error);
// The same for what the user asked wrongly.
prop::ExitCode refuse(std::string_view command, const std::string& why);

// Notes why a selection failed and gives its exit code.
prop::ExitCode complain_unselected(std::string_view command, const app::Unselected& unselected);

// Prints data to stdout; the exit code is `code`, or environment if stdout does not take it.
prop::ExitCode finish(std::string_view command, std::string_view data, prop::ExitCode code);

}  // namespace mla::cli

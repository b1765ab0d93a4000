// mla-testbed: the command line. Exit codes: docs/reference/output.md.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/say.hpp"
#include "core/suggest.hpp"
#include "properties/capture/terminal.hpp"
#include "properties/cli/arguments.hpp"
#include "properties/cli/build_info.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/gfx.hpp"

namespace mla::cli {
namespace {

constexpr const char* kFooter = R"(
Exit codes:
  0 all held   1 a property failed   2 usage   3 a file, backend, device or memory is missing
  4 inconclusive: nothing ran, or it gave up   5 a known failure passed   10 skipped or refused

Examples:
  mla-testbed run --cases 2000 --seed 1
  mla-testbed replay 'mla1:1q1s17;heads=128;arch=gfx950'
  mla-testbed plan 'mla1:16q4s1k_3q1s513;heads=8;block=16'
  mla-testbed <command> --help)";

// Names of the subcommands, or with a subcommand chosen of its options.
std::vector<std::string> known_words(const CLI::App& app) {
  std::vector<std::string> words;
  if (app.get_subcommands().empty())
    for (const CLI::App* command : app.get_subcommands(nullptr))
      words.push_back(command->get_name());
  for (const CLI::App* command : app.get_subcommands())
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  return words;
}

// CLI11 asks for a subcommand before it looks at the word that is none.
std::string message_of(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> left = app.remaining(true);
  if (left.empty()) return error.what();
  const std::vector<std::string> words = known_words(app);
  const std::vector<std::string_view> known(words.begin(), words.end());
  const std::string word = left.front().substr(0, left.front().find('='));
  if (app.get_subcommands().empty())
    return "there is no subcommand '" + word + "'" + did_you_mean_or_all(word, known);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return error.what();
  return error.what() + did_you_mean(word, known);
}

prop::ExitCode refuse(const std::string& message) {
  write_stderr("mla-testbed: " + printable_message(message) + "\nTry --help for more.\n");
  return prop::ExitCode::usage;
}

// Help and version go to stdout, complaints of the parser to stderr.
prop::ExitCode finish_parse(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() != 0) return refuse(message_of(app, error));
  std::ostringstream out;
  app.exit(error, out, out);
  return finish("", out.str(), prop::ExitCode::held);
}

prop::ExitCode run_app(int argc, char** argv) {
  prop::ExitCode exit = prop::ExitCode::usage;
  CLI::App app("Checks AITER's multi-head latent attention metadata without a GPU", "mla-testbed");
  app.set_version_flag("--version", say("mla-testbed ", kVersion));
  app.footer(kFooter);
  app.require_subcommand(1);
  add_run(app, exit);
  add_merge(app, exit);
  add_replay(app, exit);
  add_plan(app, exit);
  add_show(app, exit);
  add_check(app, exit);
  add_support(app, exit);
  add_plants(app, exit);
  add_cross_check(app, exit);
  add_fuzz(app, exit);
  add_gfx(app, exit);
  add_assumptions(app, exit);
  add_env(app, exit);
  refuse_empty_values(app);
  auto words = prepared_words(app, {argv + std::min(argc, 1), argv + argc});
  if (!words) return refuse(words.error().message);
  std::reverse(words->begin(), words->end());  // as CLI11 takes them
  try {
    app.parse(std::move(*words));
  } catch (const CLI::ParseError& error) {
    return finish_parse(app, error);
  } catch (const std::exception& error) {  // out of memory, or a library that gave up
    return complain("fault", {ErrorCode::fault, error.what(), ""});
  }
  return exit;
}

}  // namespace

}  // namespace mla::cli

int main(int argc, char** argv) {
  mla::cli::ignore_write_signals();
  return static_cast<int>(mla::cli::run_app(argc, argv));
}

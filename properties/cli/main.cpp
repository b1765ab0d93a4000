// mla-testbed: the command line. Exit codes: docs/reference/output.md.
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/say.hpp"
#include "core/suggest.hpp"
#include "properties/app/build_info.hpp"
#include "properties/cli/arguments.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/footer.hpp"
#include "properties/cli/gfx.hpp"
#include "properties/cli/options.hpp"
#include "properties/files/printable.hpp"
#include "properties/files/terminal.hpp"

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

// The parser asks for a subcommand before it looks at the word that is none.
std::string message_of(const Unparsed& bad) {
  if (!bad.unknown) return bad.why;
  const std::vector<std::string_view> known(bad.known.begin(), bad.known.end());
  const std::string word = bad.unknown->substr(0, bad.unknown->find('='));
  if (!bad.in_command)
    return "there is no subcommand '" + word + "'" + did_you_mean_or_all(word, known);
  return bad.only_unknown ? bad.why + did_you_mean(word, known) : bad.why;
}

prop::ExitCode refuse(const std::string& message) {
  files::write_stderr("mla-testbed: " + files::printable_message(message) +
                      "\nTry --help for more.\n");
  return prop::ExitCode::usage;
}

// What the deepest commands need of it, as measured; a smaller one ends in a signal.
constexpr std::size_t kLeastStack = 128U << 10U;  // bytes

MaybeError check_stack() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kLeastStack) return std::nullopt;
  return Error{ErrorCode::fault,
               say("the stack is limited to ", limit.rlim_cur >> 10U, " KiB (ulimit -s): expected ",
                   "at least ", kLeastStack >> 10U)};
}

prop::ExitCode run_app(int argc, char** argv) {
  if (const MaybeError small = check_stack()) return complain("start", *small);
  if (const auto python = run_in_python(argc, argv)) return *python;
  prop::ExitCode exit = prop::ExitCode::usage;
  CommandLine app("Checks AITER's multi-head latent attention metadata without a GPU",
                  "mla-testbed");
  app.version(say("mla-testbed ", app::kVersion));
  app.footer(kFooter);
  app.require_subcommand();
  add_run(app, exit);
  add_merge(app, exit);
  add_replay(app, exit);
  add_plan(app, exit);
  add_show(app, exit);
  add_check(app, exit);
  add_support(app, exit);
  add_time(app, exit);
  add_plants(app, exit);
  add_cross_check(app, exit);
  add_fuzz(app, exit);
  add_gfx(app, exit);
  add_aiter(app, exit);
  add_assumptions(app, exit);
  add_rocm(app, exit);
  add_completion(app, exit);
  add_env(app, exit);
  app.refuse_empty_values();
  if (argc < 2) {
    if (const auto help = app.parse({"--help"}); help && help->asked)
      files::write_stderr(*help->asked);
    return prop::ExitCode::usage;
  }
  remember_command({argv + 1, argv + argc});
  auto words = prepared_words(app, {argv + 1, argv + argc});
  if (!words) return refuse(words.error().message);
  try {
    if (const auto bad = app.parse(std::move(*words))) {
      // Help and version go to stdout, complaints of the parser to stderr.
      if (bad->asked) return finish("", *bad->asked, prop::ExitCode::held);
      return refuse(message_of(*bad));
    }
  } catch (const std::exception& error) {  // out of memory, or a library that gave up
    return complain("fault", {ErrorCode::fault, error.what()});
  }
  return exit;
}

}  // namespace

}  // namespace mla::cli

int main(int argc, char** argv) {
  mla::files::ignore_write_signals();
  return static_cast<int>(mla::cli::run_app(argc, argv));
}

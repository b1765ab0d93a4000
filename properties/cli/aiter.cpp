// `mla-testbed aiter`: a command of the Python package, which imports AITER.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "core/say.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/options.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;

constexpr const char* kName = "aiter";

// What Python is told to do: the package's command, or one sentence where there is no package.
constexpr const char* kProgram = R"(import sys
try:
    from mla_testbed.aiter_command import main
except ImportError as e:
    print(f"mla-testbed aiter: {sys.executable}: {e}; it needs the package mla_testbed with torch; "
          "MLA_TESTBED_PYTHON names another Python", file=sys.stderr)
    sys.exit(3)
sys.exit(main())
)";

constexpr const char* kAiterFooter = R"(
The commands are the Python package's, and take their own options (`mla-testbed aiter judge --help`).
MLA_TESTBED_PYTHON names the Python that imports AITER; python3 without it.

Examples:
  mla-testbed aiter judge --aiter aiter --rev v0.1.20..HEAD
  mla-testbed aiter bisect --aiter aiter --good v0.1.19 --bad HEAD 'mla1:2q1s600;heads=16;cu=8;gran=1'
  mla-testbed aiter compare --aiter aiter --base main --head my-branch --report-md report.md
  mla-testbed aiter report --aiter aiter 'mla1:1q2s65;heads=128;planner=none;arch=gfx950')";

}  // namespace

void add_aiter(Command& app, ExitCode& exit) {
  Command c = app.add_subcommand(kName, "Judge commits of AITER: judge, bisect, compare, report");
  c.footer(kAiterFooter);
  c.callback([&exit] { exit = refuse(kName, "give judge, bisect, compare or report"); });
}

std::optional<ExitCode> run_in_python(int argc, char** argv) {
  if (argc < 3 || std::string_view(argv[1]) != kName) return std::nullopt;
  const std::string_view first = argv[2];
  constexpr std::array<std::string_view, 4> kActions{"judge", "bisect", "compare", "report"};
  if (std::ranges::find(kActions, first) == kActions.end()) return std::nullopt;
  const char* named = std::getenv("MLA_TESTBED_PYTHON");
  const char* python = named != nullptr && *named != '\0' ? named : "python3";
  std::error_code none;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", none);
  ::setenv("MLA_TESTBED_COMMAND", self.c_str(), 0);
  ::setenv("MLA_TESTBED_PYTHON", python, 1);
  std::vector<char*> words = {const_cast<char*>(python), const_cast<char*>("-c"),
                              const_cast<char*>(kProgram)};
  words.insert(words.end(), argv + 2, argv + argc);
  words.push_back(nullptr);
  ::execvp(python, words.data());
  return complain(kName,
                  {ErrorCode::fault, say("'", python, "' cannot be started: ", std::strerror(errno),
                                         "; MLA_TESTBED_PYTHON names the Python of the "
                                         "package mla_testbed")});
}

}  // namespace mla::cli

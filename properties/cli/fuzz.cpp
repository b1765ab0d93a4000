// `mla-testbed fuzz`: runs the coverage-guided targets where this build has them.
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "core/suggest.hpp"
#include "properties/capture/terminal.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/interrupt.hpp"
#include "properties/cli/quantity.hpp"
#include "properties/fuzz/target.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;
using prop::fuzz::Target;
namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> targets;  // empty: all
  std::string time = "60s";
  std::string corpus = "fixtures/corpus";
  bool list = false;
};

constexpr const char* kFooter = R"(
Each target turns bytes into a case, a planner call or a document, and says what must hold. The
fuzzer starts from the shipped corpus, which has one archive for each target. New inputs are lost
unless --corpus names a folder of your own. --for is the time for each target. A finding prints the
case and the file that reproduces it, and the exit code is 1.
Only builds of the preset `fuzz` have the fuzzer: cmake --preset fuzz && cmake --build --preset fuzz

Examples:
  mla-testbed fuzz --list
  mla-testbed fuzz --target planners --for 10m
  mla-testbed fuzz --for 60s --corpus ~/corpus)";

// What one target did, from the statistics that libFuzzer prints.
struct Run {
  std::string executions = "0";
  std::string per_second = "0";
  std::string edges = "0";
  bool held = false;
  bool cut = false;  // by a signal, which a terminal sends to the fuzzer as well
};

constexpr int kInterruptExit = 72;  // libFuzzer's InterruptExitCode()

// The word behind `key` in `line`, if it is there.
bool word_behind(const std::string& line, const std::string& key, std::string& word) {
  const std::size_t at = line.find(key);
  if (at == std::string::npos) return false;
  const std::size_t begin = line.find_first_not_of(" \t", at + key.size());
  if (begin == std::string::npos) return false;
  word = line.substr(begin, line.find_first_of(" \t\n", begin) - begin);
  return true;
}

fs::path own_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

std::string quoted(const fs::path& path) {
  std::string out = "'";
  for (const char c : path.string()) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Lines that a person wants to see while it runs: findings, not statistics.
bool worth_showing(const std::string& line) {
  for (const char* start : {"FAIL ", "  ", "==", "SUMMARY", "artifact_prefix", "Test unit"})
    if (line.starts_with(start)) return true;
  return false;
}

Result<Run> run_target(const fs::path& fuzzer, const fs::path& corpus, std::int64_t seconds) {
  std::error_code error;
  fs::create_directories(corpus, error);
  const std::string command = quoted(fuzzer) + " " + quoted(corpus) +
                              " -max_total_time=" + std::to_string(seconds) +
                              " -print_final_stats=1 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return Error{ErrorCode::fault, "'" + command + "' does not start", ""};
  Run run;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) {
    const std::string line = buffer.data();
    word_behind(line, "stat::number_of_executed_units:", run.executions);
    word_behind(line, "stat::average_exec_per_sec:", run.per_second);
    word_behind(line, " cov:", run.edges);
    if (worth_showing(line)) write_stderr(line);
  }
  const int status = pclose(pipe);
  run.held = status == 0;
  run.cut = WIFEXITED(status) && WEXITSTATUS(status) == kInterruptExit;
  return run;
}

std::string list_text() {
  std::string out;
  for (const Target& t : prop::fuzz::all_targets()) {
    std::string head(t.name);
    head.resize(17, ' ');
    out.append(head).append(t.sentence).append("\n");
  }
  return out;
}

// The folder of a target. The shipped corpus is an archive a target, unpacked where nothing of the
// repository changes; without it, a fuzzer starts from nothing.
Result<fs::path> working_corpus(const Options& o, const std::string& target) {
  const fs::path archive = fs::path(o.corpus) / (target + ".tar.gz");
  if (!fs::exists(archive)) return fs::path(o.corpus) / target;
  const fs::path folder = fs::temp_directory_path() / "mla-testbed-corpus";
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string command = "tar -xzf " + quoted(archive) + " -C " + quoted(folder);
  if (std::system(command.c_str()) != 0)
    return Error{ErrorCode::fault, "'" + command + "' failed", ""};
  return folder / target;
}

ExitCode fuzz(const Options& o) {
  if (o.list) return finish("fuzz", list_text(), ExitCode::held);
  const auto time = parse_duration("--for", o.time);
  if (!time) return complain("fuzz", time.error());
  std::vector<std::string> targets = o.targets;
  std::vector<std::string_view> known;
  for (const Target& t : prop::fuzz::all_targets()) known.push_back(t.name);
  for (const std::string& name : targets)
    if (prop::fuzz::find_target(name) == nullptr)
      return complain("fuzz",
                      {ErrorCode::usage,
                       "there is no target '" + name + "'" + did_you_mean_or_all(name, known), ""});
  if (targets.empty()) targets.assign(known.begin(), known.end());
  std::string out = "target             executions   a second    edges  verdict\n";
  ExitCode code = ExitCode::held;
  catch_interrupts();
  for (const std::string& name : targets) {
    const fs::path fuzzer = own_folder() / ("fuzz_" + name);
    if (!fs::exists(fuzzer))
      return complain("fuzz", {ErrorCode::fault,
                               "this build has no '" + fuzzer.filename().string() +
                                   "': cmake --preset fuzz && cmake --build --preset fuzz makes "
                                   "one in build/fuzz; build/*/mla-fuzz " +
                                   name + " FILES replays inputs without it",
                               ""});
    const auto corpus = working_corpus(o, name);
    if (!corpus) return complain("fuzz", corpus.error());
    const auto run = run_target(fuzzer, *corpus, std::max<std::int64_t>(1, time->count() / 1000));
    if (!run) return complain("fuzz", run.error());
    char row[160];
    std::snprintf(row, sizeof row, "%-17s %11s %10s %8s  %s\n", name.c_str(),
                  run->executions.c_str(), run->per_second.c_str(), run->edges.c_str(),
                  run->held  ? "held"
                  : run->cut ? "interrupted"
                             : "FAIL");
    out += row;
    if (!run->held && !run->cut) code = ExitCode::failed;
    if (!interrupted()) continue;
    if (code == ExitCode::held) code = ExitCode::inconclusive;
    break;
  }
  return finish("fuzz", out, code);
}

}  // namespace

void add_fuzz(CLI::App& app, ExitCode& exit) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("fuzz", "Run the coverage-guided fuzz targets");
  c->add_option("--target", o->targets, "Only this target; may be repeated")->type_name("NAME");
  c->add_option("--for", o->time, "Time for each target: 30s, 10m, 2h")
      ->type_name("TIME")
      ->capture_default_str();
  c->add_option("--corpus", o->corpus,
                "Folder with a folder of inputs, or an archive, for each target")
      ->type_name("DIR")
      ->capture_default_str();
  c->add_flag("--list", o->list, "List the targets and what they check");
  c->footer(kFooter);
  c->callback([o, &exit] { exit = fuzz(*o); });
}

}  // namespace mla::cli

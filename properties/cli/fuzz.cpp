// `mla-testbed fuzz`: runs the coverage-guided targets where this build has them.
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "core/say.hpp"
#include "core/suggest.hpp"
#include "properties/app/shell_word.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/fuzz_counted.hpp"
#include "properties/cli/interrupt.hpp"
#include "properties/cli/options.hpp"
#include "properties/cli/quantity.hpp"
#include "properties/files/output_file.hpp"
#include "properties/files/terminal.hpp"
#include "properties/fuzz/target.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;
using prop::fuzz::Target;
namespace fs = std::filesystem;

struct FuzzOptions {
  std::vector<std::string> targets;  // empty: all
  std::string time = "60s";
  std::string corpus = "fixtures/corpus";
  bool list = false;
  CountedFuzz counted;
};

constexpr const char* kFuzzFooter = R"(
Each target turns bytes into a case, a planner call or a document, and says what must hold. The
fuzzer starts from the shipped corpus, one archive for each target, which lies in a clone: elsewhere
--corpus must name one. New inputs are lost unless --corpus names a folder of your own. --for is the
time for each target. A finding prints the case and the file that reproduces it, and the exit code
is 1.
Only builds of the preset `fuzz` have the fuzzer: cmake --preset fuzz && cmake --build --preset fuzz

--cases needs no fuzzer: it judges the corpus of each target, then that many inputs made from it.
What is tried depends on corpus, seed and number alone, so --shard 1/3 judges every third input,
`merge` makes one report of the records of all shards, and --resume goes on with a run that ended
early. --number judges one input again.

Examples:
  mla-testbed fuzz --list
  mla-testbed fuzz --target planners --for 10m
  mla-testbed fuzz --for 60s --corpus ~/corpus
  mla-testbed fuzz --cases 100000 --shard 2/8 --record fuzz2.json
  mla-testbed fuzz --resume fuzz2.json
  mla-testbed fuzz --target planners --seed 1 --number 4711)";

// What one target did, from the statistics that libFuzzer prints.
struct Run {
  std::string executions = "0";
  std::string per_second = "0";
  std::string edges = "0";
  bool held = false;
  bool cut = false;  // by a signal, which a terminal sends to the fuzzer as well
};

constexpr int kInterruptExit = 72;  // libFuzzer's InterruptExitCode()

// The word after `key` in `line`, if it is there.
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
  return app::shell_word(path.string());
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
  const std::string command = say(quoted(fuzzer), " ", quoted(corpus), " -max_total_time=", seconds,
                                  " -print_final_stats=1 2>&1");
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return Error{ErrorCode::fault, "'" + command + "' does not start"};
  Run run;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) {
    const std::string line = buffer.data();
    word_behind(line, "stat::number_of_executed_units:", run.executions);
    word_behind(line, "stat::average_exec_per_sec:", run.per_second);
    word_behind(line, " cov:", run.edges);
    if (worth_showing(line)) files::write_stderr(line);
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

// TMPDIR, where it names something.
fs::path temporary_folder() {
  const char* named = std::getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : "/tmp";
}

Error no_folder_in(const fs::path& folder, const std::string& why) {
  return {ErrorCode::fault, "no folder can be made in '" + folder.string() + "': " + why +
                                "; TMPDIR names another place"};
}

// Unpacks the archive of a target into `folder`.
Result<fs::path> unpack(const fs::path& archive, const fs::path& folder,
                        const std::string& target) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return no_folder_in(folder.parent_path(), error.message());
  // tar takes a relative path with a colon for one of another machine.
  const std::string command = "tar -xzf " + quoted(fs::absolute(archive)) + " -C " + quoted(folder);
  // A signal that a terminal sends to all ends this command, which says how far it came, and not
  // tar. system() would keep it from this command.
  FILE* pipe = popen(("trap '' INT TERM HUP; " + command).c_str(), "r");
  if (pipe == nullptr || pclose(pipe) != 0)
    return Error{ErrorCode::fault, "'" + command + "' failed"};
  return folder / target;
}

fs::path archive_of(const FuzzOptions& o, const std::string& target) {
  return fs::path(o.corpus) / (target + ".tar.gz");
}

// The folder of a target. The shipped corpus is an archive a target, unpacked where nothing of the
// repository changes; without it, a fuzzer starts from nothing.
Result<fs::path> working_corpus(const FuzzOptions& o, const std::string& target) {
  const fs::path archive = archive_of(o, target);
  if (!fs::exists(archive)) return fs::path(o.corpus) / target;
  return unpack(archive, temporary_folder() / "mla-testbed-corpus", target);
}

// The inputs of a counted run, which takes the corpus as it is: no fuzzer has added to the folder.
Result<app::FuzzInputs> read_inputs(const FuzzOptions& o, const std::string& target,
                                    std::uint64_t seed) {
  const fs::path archive = archive_of(o, target);
  const fs::path folder = fs::path(o.corpus) / target;
  if (!fs::exists(archive)) {
    if (fs::is_directory(folder)) return app::FuzzInputs::read(folder.string(), seed);
    return Error{ErrorCode::fault, "there is neither '" + archive.string() + "' nor a folder '" +
                                       folder.string() +
                                       "': --corpus names a folder with one of them"};
  }
  std::string scratch = (temporary_folder() / "mla-testbed-fuzz.XXXXXX").string();
  if (mkdtemp(scratch.data()) == nullptr)
    return no_folder_in(temporary_folder(), std::strerror(errno));
  const auto unpacked = unpack(archive, scratch, target);
  auto inputs = unpacked ? app::FuzzInputs::read(unpacked->string(), seed)
                         : Result<app::FuzzInputs>(unpacked.error());
  std::error_code error;
  fs::remove_all(scratch, error);
  return inputs;
}

ExitCode counted(const FuzzOptions& o, const std::vector<std::string>& targets) {
  std::vector<files::Input> inputs;
  for (const std::string& t : targets) inputs.push_back({"--corpus", archive_of(o, t).string()});
  if (const MaybeError bad = files::check_inputs_kept(
          {{"--junit", o.counted.publication.junit}, {"--record", o.counted.record}}, inputs))
    return complain("fuzz", *bad);
  CountedFuzz all = o.counted;
  all.targets = targets;
  return fuzz_counted(all, [&o](const std::string& target, std::uint64_t seed) {
    return read_inputs(o, target, seed);
  });
}

// What the options of a counted run contradict.
MaybeError contradiction(const CountedFuzz& c, bool time, bool targets) {
  const auto refuse = [](const char* why) { return Error{ErrorCode::usage, why}; };
  const bool split = !c.shard.empty() || !c.record.empty();
  if (!c.resume.empty() &&
      (!c.cases.empty() || !c.number.empty() || !c.shard.empty() || !c.seed.empty() || targets))
    return refuse(
        "--resume takes what is judged from its file: leave out --cases, --number, "
        "--seed, --shard and --target");
  if (c.resume.empty() && c.cases.empty() && c.number.empty() &&
      (split || !c.publication.junit.empty() || c.publication.json))
    return refuse(
        "--shard, --record, --junit and --json are for counted runs: add --cases N; what "
        "a fuzzer tries for a time depends on what it found, and cannot be split");
  if (!c.number.empty() && split)
    return refuse("--number is one input: leave out --shard, --record");
  if (time && !(c.cases.empty() && c.number.empty() && c.resume.empty()))
    return refuse("--for is for the fuzzer: leave it out, or --cases, --number and --resume");
  return std::nullopt;
}

ExitCode fuzz(const FuzzOptions& o, bool time_given) {
  if (o.list) return finish("fuzz", list_text(), ExitCode::held);
  if (const MaybeError bad = contradiction(o.counted, time_given, !o.targets.empty()))
    return complain("fuzz", *bad);
  const auto time = parse_duration("--for", o.time);
  if (!time) return complain("fuzz", time.error());
  std::vector<std::string> targets;
  std::vector<std::string_view> known;
  for (const Target& t : prop::fuzz::all_targets()) known.push_back(t.name);
  for (const std::string& name : o.targets) {
    if (prop::fuzz::find_target(name) == nullptr)
      return refuse("fuzz", "there is no target '" + name + "'" + did_you_mean_or_all(name, known));
    if (std::find(targets.begin(), targets.end(), name) == targets.end()) targets.push_back(name);
  }
  if (targets.empty()) targets.assign(known.begin(), known.end());
  if (const CountedFuzz& c = o.counted; !c.cases.empty() || !c.number.empty() || !c.resume.empty())
    return counted(o, targets);
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
                                   name + " FILES replays inputs without it"});
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

void add_counted(Command& c, CountedFuzz& o) {
  c.add_option("--cases", o.cases, "Judge this many made inputs of each target, without a fuzzer")
      .type_name("N");
  c.add_option("--seed", o.seed, "Seed of the made inputs; 1 if none is given").type_name("N");
  c.add_option("--number", o.number, "Judge only the input with this number").type_name("N");
  c.add_option("--shard", o.shard, "Judge the i-th of n shares of the inputs, as 1/3")
      .type_name("i/n");
  add_record_options(c, o, "table");
}

}  // namespace

void add_fuzz(Command& app, ExitCode& exit) {
  auto o = std::make_shared<FuzzOptions>();
  Command c = app.add_subcommand("fuzz", "Run the coverage-guided fuzz targets");
  c.add_option("--target", o->targets, "Only this target; may be repeated").type_name("NAME");
  const Option time = c.add_option("--for", o->time, "Time for each target: 30s, 10m, 2h")
                          .type_name("TIME")
                          .show_default();
  c.add_option("--corpus", o->corpus,
               "Folder with a folder of inputs, or an archive, for each target")
      .type_name("DIR")
      .show_default();
  const Option list = c.add_flag("--list", o->list, "List the targets and what they check");
  add_counted(c, o->counted);
  c.footer(kFuzzFooter);
  c.callback([o, c, list, time, &exit] {
    c.goes_only_with(list, {"no-progress"});
    exit = fuzz(*o, time.given());
  });
}

}  // namespace mla::cli

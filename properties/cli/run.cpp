// `mla-testbed run`: judges shipped and random cases and ends in a verdict table.
#include <CLI/CLI.hpp>
#include <memory>

#include "properties/cli/backends.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/judge_on.hpp"
#include "properties/cli/quantity.hpp"
#include "properties/cli/selection.hpp"
#include "properties/cli/terminal.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;

// Random cases when the command line names no number, no time and no file.
constexpr std::int64_t kDefaultCases = 200;

struct Options {
  std::string backends = "cpu";
  std::string device = "auto";
  std::string time;   // empty: no limit
  std::string cases;  // empty: the default
  std::string seed = "1";
  std::vector<std::string> properties;
  std::vector<std::string> case_files;
  bool json = false;
  std::string junit;  // empty: none
  bool no_progress = false;
};

constexpr const char* kFooter = R"(
Prints every failure as a block that begins with `FAIL <property> <case>`, then a table with one
verdict for each property. With `cpu,hip` the stages of the device are held to those of the CPU, and
the first that differs is a fault with its work item. Cases from files come first; then --cases random ones, or random ones for
the time of --for. Without any of the three, 200 random cases are judged.

Examples:
  mla-testbed run --cases 2000 --seed 1
  mla-testbed run --for 30s --property P05 --property P18
  mla-testbed run --cases-file fixtures/cases/smoke.txt --backend cpu,cpu-portable
  mla-testbed run --backend cpu,hip --device emulated:gfx942 --cases-file fixtures/cases/device.txt
  mla-testbed run --cases 500 --json > report.json
  mla-testbed run --for 10m --junit report.xml --no-progress)";

// The numbers of the command line, or the first that is none.
Result<prop::RunOptions> read_numbers(const Options& o) {
  prop::RunOptions run;
  const auto seed = parse_seed("--seed", o.seed);
  if (!seed) return seed.error();
  run.seed = *seed;
  if (!o.time.empty()) {
    const auto limit = parse_duration("--for", o.time);
    if (!limit) return limit.error();
    run.time_limit = *limit;
  }
  if (!o.cases.empty()) {
    const auto cases = parse_count("--cases", o.cases);
    if (!cases) return cases.error();
    run.random_cases = *cases;
  }
  if (o.cases.empty() && o.time.empty() && o.case_files.empty()) run.random_cases = kDefaultCases;
  return run;
}

ExitCode run(const Options& o) {
  auto numbers = read_numbers(o);
  if (!numbers) return complain("run", numbers.error());
  auto backends = make_backends(o.backends, o.device);
  if (!backends) return complain("run", backends.error());
  auto properties = select_properties(o.properties);
  auto cases = select_cases(o.case_files);
  const auto* unselected = std::get_if<Unselected>(&properties);
  if (unselected == nullptr) unselected = std::get_if<Unselected>(&cases);
  if (unselected != nullptr) {
    write_stderr("mla-testbed run: " + unselected->message + "\n");
    return unselected->exit;
  }
  numbers->properties = *std::get_if<0>(&properties);
  numbers->cases = *std::get_if<0>(&cases);
  const RunSummary summary = judge_on(*backends, std::move(*numbers), !o.no_progress);
  return publish("run", summary, {o.json, o.junit});
}

}  // namespace

void add_run(CLI::App& app, ExitCode& exit) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("run", "Judge shipped and random cases by the properties");
  c->add_option("--backend", o->backends, "Backends to judge, separated by commas")
      ->type_name("NAMES")
      ->capture_default_str();
  c->add_option("--device", o->device,
                "Device of backend hip: auto, hip:0, nvidia:0, emulated:gfx942, emulated:gfx950")
      ->type_name("NAME")
      ->capture_default_str();
  auto* time = c->add_option("--for", o->time, "Draw random cases for so long, as 500ms, 30s or 2m")
                   ->type_name("TIME");
  c->add_option("--cases", o->cases, "Draw so many random cases")->type_name("N")->excludes(time);
  c->add_option("--seed", o->seed, "Seed of the random cases")
      ->type_name("N")
      ->capture_default_str();
  c->add_option("--property", o->properties, "Judge by this property only (repeatable)")
      ->type_name("ID")
      ->allow_extra_args(false)
      ->delimiter(',');
  c->add_option("--cases-file", o->case_files, "Judge the cases of this file first (repeatable)")
      ->type_name("FILE")
      ->allow_extra_args(false);
  c->add_flag("--json", o->json, "Print one JSON object instead of the table");
  c->add_option("--junit", o->junit, "Write a JUnit XML report to this file as well")
      ->type_name("FILE");
  c->add_flag("--no-progress", o->no_progress, "Draw no progress bar");
  c->footer(kFooter);
  c->callback([o, &exit] { exit = run(*o); });
}

}  // namespace mla::cli

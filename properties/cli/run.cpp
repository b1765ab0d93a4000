// `mla-testbed run`: judges shipped and random cases and ends in a verdict table.
#include <CLI/CLI.hpp>
#include <memory>

#include "properties/cli/backends.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/judging_options.hpp"
#include "properties/cli/quantity.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;

// Random cases when the command line names no number, no time and no file.
constexpr std::int64_t kDefaultCases = 200;

struct Options {
  std::string backends = "cpu";
  DeviceChoice device;
  std::string time;   // empty: no limit
  std::string cases;  // empty: the default
  JudgingOptions judging;
};

constexpr const char* kFooter = R"(
Judges the cases of the files first, then --cases random cases, or random cases for the time of
--for. Without any of these options it judges 200 random cases.
Each failure is shrunk and printed as a block that begins with `FAIL <properties> <case>`. A table
at the end has one verdict for each property. Above it stands what was launched, by backend, device
and kind of step: a property passes only if the named backend ran its own code. With `cpu,hip` the
stages of the device are compared with those of the CPU; the first difference is a fault with its
work item.
A failure that the ledger explains is counted and changes no verdict. P00, the canary, is a
self-test: it fails on purpose for one case in a hundred.
SIGINT and SIGTERM end a run early. It still writes the table and all reports, and exits with 4, or
with 1 if something failed.

Examples:
  mla-testbed run --cases 2000 --seed 1
  mla-testbed run --for 30s --property P05 --property P18
  mla-testbed run --cases-file fixtures/cases/smoke.txt --backend cpu,cpu-portable
  mla-testbed run --backend cpu,hip --device emulated:gfx942 --cases-file fixtures/cases/device.txt
  mla-testbed run --backend cpu,aiter --device emulated:gfx942 --aiter-hsa aiter/hsa
  mla-testbed run --cases 500 --json > report.json
  mla-testbed run --for 10m --junit report.xml --no-progress)";

// How many random cases, or for how long.
Status read_numbers(const Options& o, prop::RunOptions& run) {
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
  if (o.cases.empty() && o.time.empty() && o.judging.case_files.empty())
    run.random_cases = kDefaultCases;
  return std::nullopt;
}

ExitCode run(const Options& o) {
  auto begun = begin_judging("run", o.judging);
  if (const auto* exit = std::get_if<ExitCode>(&begun)) return *exit;
  auto& options = *std::get_if<0>(&begun);
  if (const Status bad = read_numbers(o, options)) return complain("run", *bad);
  auto backends = make_backends(o.backends, o.device);
  if (!backends) return complain("run", backends.error());
  return judge_and_publish("run", *backends, std::move(options), !o.judging.no_progress,
                           o.judging.publication);
}

}  // namespace

void add_run(CLI::App& app, ExitCode& exit) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("run", "Judge shipped and random cases by the properties");
  c->add_option("--backend", o->backends, "Backends to judge, separated by commas")
      ->type_name("NAMES")
      ->capture_default_str();
  add_device_options(*c, o->device);
  auto* time =
      c->add_option("--for", o->time, "Draw random cases for this time, as 500ms, 30s or 2m")
          ->type_name("TIME");
  c->add_option("--cases", o->cases, "Draw this many random cases")->type_name("N")->excludes(time);
  add_judging_options(*c, o->judging, true);
  c->footer(kFooter);
  c->callback([o, &exit] { exit = run(*o); });
}

}  // namespace mla::cli

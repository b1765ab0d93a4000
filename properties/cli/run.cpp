// `mla-testbed run`: judges shipped and random cases and ends in a verdict table.
#include <memory>

#include "properties/app/record_file.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/device_options.hpp"
#include "properties/cli/judge_on.hpp"
#include "properties/cli/judging_options.hpp"
#include "properties/cli/options.hpp"
#include "properties/cli/quantity.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;

// Random cases when the command line names no number, no time and no file.
constexpr std::int64_t kDefaultCases = 200;

struct RunOptions {
  std::string backends = "cpu";
  app::DeviceChoice device;
  std::string resume;  // empty: a new run
  JudgingOptions judging;
};

constexpr const char* kRunFooter = R"(
Judges the cases of the files first, then --cases random cases, or random cases for the time of
--for. Without any of these options it judges 200 random cases.
Each failure is shrunk and printed as a block that begins with `FAIL <properties> <case>`. A table
at the end has one verdict for each property. Above it stands what was launched, by backend, device
and kind of step: a property passes only if the named backend ran its own code. With `cpu,hip` the
stages of the device are compared with those of the CPU; the first difference is a fault with its
work item.
A failure that the ledger explains is counted and changes no verdict. P00, the canary, is a
self-test: it fails on purpose for one case in a hundred.
SIGINT, SIGTERM and SIGHUP end a run early. It still writes the table and all reports, and exits
with 4, or with 1 if something failed.

--shard 1/3 judges every third case, --record writes what was found; `merge` makes one report of
the records of all shards. --resume goes on with a run that ended early, with the options and the
shard of its record.

Examples:
  mla-testbed run --cases 2000 --seed 1
  mla-testbed run --for 30s --property P05 --property P18
  mla-testbed run --cases-file fixtures/cases/smoke.txt --backend cpu,cpu-portable
  mla-testbed run --backend cpu,hip --device emulated:gfx942 --cases-file fixtures/cases/device.txt
  mla-testbed run --backend cpu,aiter --device emulated:gfx942 --aiter-hsa aiter/hsa
  mla-testbed run --cases 500 --json > report.json
  mla-testbed run --cases 20000 --shard 2/8 --record shard2.json
  mla-testbed run --resume shard2.json
  mla-testbed run --for 10m --junit report.xml --no-progress)";

ExitCode run(const RunOptions& o, app::Recording recording) {
  const std::string_view command = command_of(recording, "run");
  recording.inputs = inputs_of(o.judging);
  auto begun = begin_judging(command, o.judging);
  if (const auto* exit = std::get_if<ExitCode>(&begun)) return *exit;
  auto& options = *std::get_if<0>(&begun);
  if (o.judging.cases.empty() && o.judging.time.empty() && o.judging.case_files.empty())
    options.random_cases = kDefaultCases;
  app::DeviceChoice device = o.device;
  const bool single = std::ssize(options.cases) + options.random_cases == 1 && !options.time_limit;
  device.workers = single ? 1 : 0;  // one case has all cores for its launches
  auto backends = app::make_backends(o.backends, device, !options.ledger.empty());
  if (!backends) return complain(command, backends.error());
  return judge_and_publish(command, *backends, options, !o.judging.no_progress,
                           o.judging.publication, std::move(recording));
}

void declare(Command& c, RunOptions& o) {
  c.add_option("--backend", o.backends, "Backends to judge, separated by commas")
      .type_name("NAMES")
      .show_default();
  add_device_options(c, o.device);
  c.add_flag("--production", o.device.production,
             "Draw production shapes on an emulated device too: seconds or minutes a case");
  add_judging_options(c, o.judging, true);
}

// The rest of a run that ended early, into the same record.
ExitCode resume(const RunOptions& o, const Command& app) {
  std::vector<std::string> others = deciding_arguments(app);
  if (!o.judging.shard.empty()) others.emplace_back("--shard");
  if (!others.empty())
    return refuse("run",
                  "--resume takes what is judged from its file: leave out " + others.front());
  auto record = app::read_begun(o.resume, app::RecordKind::run);
  if (!record) return complain("run", record.error());
  if (record->command != "run")
    return refuse("run", "'" + o.resume + "' is of the command '" + record->command + "'");
  app::Recording recording{std::move(*record)};
  recording.resumed = o.resume;
  recording.path = o.judging.record.empty() ? o.resume : o.judging.record;
  recording.aiter_hsa = o.device.aiter_hsa;
  return run_recorded(std::move(recording), o.judging);
}

}  // namespace

ExitCode run_recorded(app::Recording recording, const JudgingOptions& how) {
  RunOptions o;
  CommandLine app("", "");
  declare(app, o);
  if (const MaybeError bad = take_recorded(app, recording, how, o.judging))
    return complain(command_of(recording, "run"), *bad);
  if (!recording.aiter_hsa.empty()) o.device.aiter_hsa = recording.aiter_hsa;
  return run(o, std::move(recording));
}

void add_run(Command& app, ExitCode& exit) {
  auto o = std::make_shared<RunOptions>();
  Command c = app.add_subcommand("run", "Judge shipped and random cases by the properties");
  declare(c, *o);
  c.add_option("--resume", o->resume, "Go on with the run of this record, which ended early")
      .type_name("FILE");
  c.footer(kRunFooter);
  c.callback([o, c, &exit] {
    if (!o->resume.empty()) {
      exit = resume(*o, c);
      return;
    }
    auto recording = begin_recording("run", o->judging, c);
    exit = recording ? run(*o, std::move(*recording)) : complain("run", recording.error());
  });
}

}  // namespace mla::cli

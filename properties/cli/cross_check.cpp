// `mla-testbed cross-check`: every device of this machine judged, one after the other.
#include <memory>

#include "core/say.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/device_options.hpp"
#include "properties/cli/judge_on.hpp"
#include "properties/cli/judging_options.hpp"
#include "properties/cli/options.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;

constexpr int kMostDevices = 64;  // of one runtime

struct CrossCheckOptions {
  std::vector<std::string> devices;  // empty: every GPU
  std::string backend = "hip";
  std::string aiter_hsa;
  app::EmulationChoice emulation;
  JudgingOptions judging;
};

constexpr const char* kCrossCheckFooter = R"(
The entry point for CI on MI300X, MI355X and other GPUs. On each device all properties judge the
cases of the files, then --cases random cases, or random cases until the time of --for is over. The
stages are compared with those of the CPU backend, the results with the float64 reference. The
report names device, driver, code objects and what was launched. A property that cannot apply on a
device is not-applicable. Without a device the command says what is missing and exits with 3.
Emulated devices must be named.

Examples:
  mla-testbed cross-check --for 10m --junit report.xml
  mla-testbed cross-check --device hip:1 --cases-file fixtures/cases/boundaries.txt
  mla-testbed cross-check --device emulated:gfx942 --device emulated:gfx950 --cases 200)";

// The named devices, or every GPU of each runtime.
Result<std::vector<app::NamedBackend>> discover(const CrossCheckOptions& o) {
  const auto make = [&o](const std::string& device) {
    const app::DeviceChoice choice{
        .device = device, .aiter_hsa = o.aiter_hsa, .emulation = o.emulation, .workers = 0};
    return o.backend == "hip" ? app::make_hip(choice) : app::make_aiter(choice);
  };
  std::vector<app::NamedBackend> found;
  for (const std::string& name : o.devices) {
    auto one = make(name);
    if (!one) return one.error();
    found.push_back(std::move(*one));
  }
  if (!o.devices.empty()) return found;
  std::string missing;
  for (const char* runtime : {"hip:", "nvidia:"}) {
    for (int i = 0; i < kMostDevices; ++i) {
      auto one = make(say(runtime, i));
      if (!one) {
        if (i == 0) missing += (missing.empty() ? "" : "; ") + one.error().message;
        break;
      }
      found.push_back(std::move(*one));
    }
  }
  if (found.empty()) return Error{ErrorCode::fault, "there is no device: " + missing};
  return found;
}

ExitCode cross_check(const CrossCheckOptions& o, app::Recording recording) {
  const std::string_view command = command_of(recording, "cross-check");
  if (o.backend != "aiter" && app::named_aiter(o.aiter_hsa))
    return refuse(command, "--aiter-hsa " + o.aiter_hsa + " goes with backend aiter");
  recording.inputs = inputs_of(o.judging);
  auto begun = begin_judging(command, o.judging);
  if (const auto* exit = std::get_if<ExitCode>(&begun)) return *exit;
  auto& run = *std::get_if<0>(&begun);
  auto devices = discover(o);
  if (!devices) return complain(command, devices.error());
  for (app::NamedBackend& d : *devices) {
    if (o.backend == "hip") d.name = d.facts.front().second;  // a ledger names backend aiter
    app::compare_stages(d);
  }
  return judge_and_publish(command, *devices, run, !o.judging.no_progress, o.judging.publication,
                           std::move(recording));
}

void declare(Command& c, CrossCheckOptions& o) {
  c.add_option("--device", o.devices, "Only this device (repeatable): hip:0, nvidia:0, ...")
      .type_name("NAME")
      .one_value_each();
  c.add_option("--backend", o.backend, "hip, or aiter: the kernels of an installed AITER")
      .one_of({"hip", "aiter"})
      .show_default();
  add_aiter_option(c, o.aiter_hsa);
  add_emulation_options(c, o.emulation);
  o.judging.time = "60s";
  add_judging_options(c, o.judging, false);
}

}  // namespace

ExitCode cross_check_recorded(app::Recording recording, const JudgingOptions& how) {
  CrossCheckOptions o;
  CommandLine app("", "");
  declare(app, o);
  if (const MaybeError bad = take_recorded(app, recording, how, o.judging))
    return complain("merge", *bad);
  if (!recording.aiter_hsa.empty()) o.aiter_hsa = recording.aiter_hsa;
  return cross_check(o, std::move(recording));
}

void add_cross_check(Command& app, ExitCode& exit) {
  auto o = std::make_shared<CrossCheckOptions>();
  Command c =
      app.add_subcommand("cross-check", "Judge the HIP kernels on every GPU of this machine");
  declare(c, *o);
  c.footer(kCrossCheckFooter);
  c.callback([o, c, &exit] {
    auto recording = begin_recording("cross-check", o->judging, c);
    exit = recording ? cross_check(*o, std::move(*recording))
                     : complain("cross-check", recording.error());
  });
}

}  // namespace mla::cli

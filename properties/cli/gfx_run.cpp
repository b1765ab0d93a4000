// `mla-testbed gfx run`: one launch of one kernel of any code object, and what it left in memory.
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/say.hpp"
#include "hip_backend/gfx_emulator/launch.hpp"
#include "properties/app/event_json.hpp"
#include "properties/app/gfx_arguments.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/gfx.hpp"
#include "properties/cli/interrupt.hpp"
#include "properties/cli/profile_options.hpp"
#include "properties/cli/publisher.hpp"
#include "properties/cli/quantity.hpp"
#include "properties/files/output_file.hpp"
#include "properties/files/terminal.hpp"
#include "properties/show/svg.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;
using Json = nlohmann::ordered_json;

Result<gfx::LaunchRequest> request_of(const GfxOptions& o, const gfx::CodeObject& object,
                                      const gfx::Kernel& kernel,
                                      const app::GfxArguments& arguments) {
  gfx::LaunchRequest request{.kernel = kernel.name};
  const auto grid = parse_triple("--grid", o.grid, 1), block = parse_triple("--block", o.block, 1);
  if (!grid) return grid.error();
  if (!block) return block.error();
  const auto lds = parse_count("--dynamic-lds", o.dynamic_lds);
  if (!lds) return lds.error();
  if (*lds > 1 << 20)
    return Error{ErrorCode::usage,
                 "--dynamic-lds is " + o.dynamic_lds + "; expected at most 1048576", ""};
  const auto limit = parse_count("--limit", o.limit);
  if (!limit) return limit.error();
  const std::string device =
      object.arch() == gfx::Arch::gfx942 ? "emulated:gfx942" : "emulated:gfx950";
  app::EmulationChoice emulation = o.emulation;
  if (const Status bad = ask_for_profile(o.profile, device, emulation)) return *bad;
  const auto run = app::read_emulation(emulation, device);
  if (!run) return run.error();
  request.grid = *grid;
  request.block = *block;
  request.dynamic_lds = static_cast<std::uint32_t>(*lds);
  request.kernarg = arguments.kernarg;
  request.options = *run;
  request.options.instruction_limit = static_cast<std::uint64_t>(*limit);
  return request;
}

Json counts_json(const gfx::Statistics& s) {
  return {{"wave_instructions", s.instructions},
          {"workgroups", s.workgroups},
          {"waves", s.waves},
          {"bytes_read", s.bytes_read},
          {"bytes_written", s.bytes_written},
          {"lds_bytes_read", s.lds_bytes_read},
          {"lds_bytes_written", s.lds_bytes_written},
          {"lds_bank_conflicts", s.lds_bank_conflicts}};
}

// JSON has no number for these.
Json value_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

std::string text_of(const gfx::LaunchReport& report, const app::GfxArguments& arguments,
                    const app::EmulationLog& log) {
  const gfx::Statistics& s = report.statistics;
  const auto n = [](std::uint64_t value, std::string_view what) {
    return show::counted(static_cast<std::int64_t>(value), what);
  };
  std::string out = "executed " + n(s.instructions, "wave instruction") + " of " +
                    n(s.waves, "wave") + " in " + n(s.workgroups, "workgroup") + "\n";
  for (const gfx::Event& fault : report.faults)
    out += "fault: " + files::printable(fault.line()) + "\n";
  out += log.text();
  for (const app::GfxBuffer& buffer : arguments.buffers) {
    if (buffer.show == 0) continue;
    out += say("argument ", buffer.argument, ":");
    for (const double value : app::shown_elements(buffer)) {
      const Json json = value_json(value);
      out += " " + (json.is_string() ? json.get<std::string>() : json.dump());
    }
    out += "\n";
  }
  for (const gfx::Assumed& a : report.assumed)
    out += say("rests on ", a.name, ", ", a.times, " wave instructions\n");
  return out;
}

Json json_of(const gfx::LaunchReport& report, const app::GfxArguments& arguments,
             const app::EmulationLog& log) {
  Json faults = Json::array(), buffers = Json::array();
  for (const gfx::Event& fault : report.faults) faults.push_back(app::event_json(fault));
  for (const app::GfxBuffer& buffer : arguments.buffers) {
    Json values = Json::array();
    for (const double value : app::shown_elements(buffer)) values.push_back(value_json(value));
    buffers.push_back({{"argument", buffer.argument},
                       {"type", buffer.type},
                       {"bytes", buffer.bytes.size()},
                       {"output", buffer.output.empty() ? Json(nullptr) : Json(buffer.output)},
                       {"values", values}});
  }
  return {{"faults", faults},
          {"emulated", Json::parse(log.json())},
          {"executed", counts_json(report.statistics)},
          {"buffers", buffers}};
}

// Two outputs to one file, or one to a file that is read: asked before anything runs.
Status check_files(const GfxOptions& o, const app::GfxArguments& arguments) {
  std::vector<files::Output> outputs{{"--annotate", o.profile.annotate},
                                     {"--trace", o.profile.trace}};
  if (o.json) outputs.push_back(files::printed(true));
  for (const app::GfxBuffer& buffer : arguments.buffers)
    outputs.push_back({say("\"output\" of argument ", buffer.argument), buffer.output});
  std::vector<files::Input> inputs{{"gfx run", o.object}, {"--args", o.arguments}};
  for (const std::string& file : arguments.files) inputs.push_back({"--args", file});
  return files::check_outputs(outputs, inputs);
}

std::string bytes_of(const app::GfxBuffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.bytes.data()), buffer.bytes.size()};
}

}  // namespace

ExitCode gfx_run(const GfxOptions& o) {
  const auto failed = [](const Error& error) { return complain("gfx run", error); };
  const auto object = load_gfx_object(o.object);
  if (!object) return failed(object.error());
  const auto kernel = find_gfx_kernel(*object, o.kernel);
  if (!kernel) return failed(kernel.error());
  const auto arguments = app::read_gfx_arguments(o.arguments, **kernel);
  if (!arguments) return failed(arguments.error());
  if (const Status bad = check_files(o, *arguments)) return failed(*bad);
  const auto request = request_of(o, *object, **kernel, *arguments);
  if (!request) return failed(request.error());
  end_launches_on_interrupt();
  const auto report = gfx::run(*object, *request, *arguments->memory);
  if (!report) {
    const ExitCode code = failed(report.error());
    return interrupted() ? ExitCode::inconclusive : code;
  }
  app::EmulationLog log(o.emulation.words());
  log.note((*kernel)->name, *report);
  app::LaunchProfile profile;
  profile.note((*kernel)->name, *report);
  Publisher out("gfx run");
  publish_profile(profile, o.profile, out);
  for (const app::GfxBuffer& buffer : arguments->buffers)
    out.file(buffer.output, [&] { return bytes_of(buffer); });
  return out.finish(
      o.json
          ? json_of(*report, *arguments, log).dump(2, ' ', false, Json::error_handler_t::replace) +
                "\n"
          : text_of(*report, *arguments, log),
      report->clean() ? ExitCode::held : ExitCode::failed);
}

}  // namespace mla::cli

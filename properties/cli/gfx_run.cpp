// `mla-testbed gfx run`: one launch of one kernel of any code object, and what it left in memory.
#include "core/say.hpp"
#include "hip_backend/gfx_emulator/launch.hpp"
#include "hip_backend/gfx_emulator/report/progress.hpp"
#include "hip_backend/gfx_emulator/run/instruction_limit.hpp"
#include "properties/app/gfx.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/device_options.hpp"
#include "properties/cli/gfx.hpp"
#include "properties/cli/interrupt.hpp"
#include "properties/cli/publisher.hpp"
#include "properties/cli/quantity.hpp"
#include "properties/files/output_file.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;

Result<std::uint64_t> limit_of(const std::string& option) {
  if (option.empty()) return gfx::usual_instruction_limit();
  const auto limit = parse_count("--limit", option);
  if (!limit) return limit.error();
  return static_cast<std::uint64_t>(*limit);
}

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
                 "--dynamic-lds is " + o.dynamic_lds + "; expected at most 1048576"};
  const auto limit = limit_of(o.limit);
  if (!limit) return limit.error();
  const std::string device =
      object.arch() == gfx::Arch::gfx942 ? "emulated:gfx942" : "emulated:gfx950";
  app::EmulationChoice emulation = o.emulation;
  if (const MaybeError bad = ask_for_profile(o.profile, device, emulation)) return *bad;
  const auto run = app::read_emulation(emulation, device);
  if (!run) return run.error();
  request.grid = *grid;
  request.block = *block;
  request.dynamic_lds = static_cast<std::uint32_t>(*lds);
  request.kernarg = arguments.kernarg;
  request.options = *run;
  request.options.instruction_limit = *limit;
  request.options.progress = gfx::progress_wanted();
  return request;
}

// Two outputs to one file, or one to a file that is read: asked before anything runs.
MaybeError check_files(const GfxOptions& o, const app::GfxArguments& arguments) {
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
  const auto object = app::load_gfx_object(o.object);
  if (!object) return failed(object.error());
  const auto kernel = app::find_gfx_kernel(*object, o.kernel);
  if (!kernel) return failed(kernel.error());
  const auto arguments = app::read_gfx_arguments(o.arguments, **kernel);
  if (!arguments) return failed(arguments.error());
  if (const MaybeError bad = check_files(o, *arguments)) return failed(*bad);
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
  return out.finish(o.json ? app::gfx_run_json(*report, *arguments, log)
                           : app::gfx_run_text(*report, *arguments, log),
                    report->clean() ? ExitCode::held : ExitCode::failed);
}

}  // namespace mla::cli

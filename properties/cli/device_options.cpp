#include "properties/cli/device_options.hpp"

#include "core/say.hpp"
#include "properties/cli/options.hpp"
#include "properties/cli/quantity.hpp"
#include "properties/files/output_file.hpp"

namespace mla::cli {

void add_emulation_options(Command& command, app::EmulationChoice& choice) {
  command.add_flag("--checks{all}", choice.checks,
                   "Checks of an emulated device: waits, lds, global, uninitialised and barriers; "
                   "or --checks=LIST of these, all, lanes, same-barrier, coherence, dropped and "
                   "banks (docs/reference/emulator.md)");
  command
      .add_option("--schedule", choice.schedule,
                  "Turns of the waves on an emulated device: slice=N and order=in-turn, reverse or "
                  "shuffled.SEED, separated by commas")
      .type_name("ORDER");
  command
      .add_option("--arrival", choice.arrival,
                  "When memory answers on an emulated device: early, late, random.SEED, or "
                  "after.N instructions")
      .type_name("WHEN");
  command
      .add_option("--matrix", choice.matrix,
                  "Matrix products of an emulated device: fast, or exact as the published model of "
                  "gfx942")
      .type_name("MODE");
}

void add_aiter_option(Command& command, std::string& directory) {
  command
      .add_option("--aiter-hsa", directory,
                  "Directory hsa of the AITER whose kernels backend aiter runs")
      .type_name("DIR")
      .environment("AITER_HSA");
}

void add_tree_option(Command& command, std::string& directory) {
  command
      .add_option("--aiter", directory,
                  "Source tree of an AITER: its own planner, dispatch, kernels and reduce")
      .type_name("DIR");
}

void add_device_options(Command& command, app::DeviceChoice& choice) {
  command
      .add_option("--device", choice.device,
                  "Device of backends hip and aiter: auto, hip:0, nvidia:0, emulated:gfx942, "
                  "emulated:gfx950")
      .type_name("NAME")
      .show_default();
  add_aiter_option(command, choice.aiter_hsa);
  add_tree_option(command, choice.aiter_tree);
  command
      .add_option("--aiter-opus", choice.aiter_opus,
                  "Code object of AITER's OPUS decode, which backend aiter then runs for fp8")
      .type_name("FILE");
  command.add_flag(
      "--aiter-any-width", choice.any_width,
      "Run AITER's kernels on rows that are not the 512 + 64 which they have built in, "
      "on an emulated device, which names what they read past");
  add_emulation_options(command, choice.emulation);
}

void add_profile_options(Command& command, ProfileOptions& options) {
  command
      .add_option("--annotate", options.annotate,
                  "Also write the disassembly of the emulated kernels to this file, with what was "
                  "done at each instruction")
      .type_name("FILE");
  const Option trace =
      command
          .add_option("--trace", options.trace,
                      "Also write a trace of the waves of one workgroup for Perfetto to this file")
          .type_name("FILE");
  command.add_option("--trace-workgroup", options.workgroup, "The workgroup of the trace")
      .type_name("X,Y,Z")
      .show_default()
      .needs(trace);
}

MaybeError ask_for_profile(const ProfileOptions& options, std::string_view device,
                           app::EmulationChoice& choice) {
  if (!options.given()) return std::nullopt;
  const auto refuse = [](const std::string& why) { return Error{ErrorCode::usage, why}; };
  if (!device.starts_with("emulated:"))
    return refuse(say("--annotate and --trace need an emulated device, not '", device, "'"));
  if (!choice.arrival.empty() && choice.arrival != "early")
    return refuse("--annotate and --trace need memory that answers at once: leave out --arrival");
  const auto workgroup = parse_triple("--trace-workgroup", options.workgroup, 0);
  if (!workgroup) return workgroup.error();
  if (const MaybeError bad =
          files::check_distinct({{"--annotate", options.annotate}, {"--trace", options.trace}}))
    return bad;
  for (const std::string& file : {options.annotate, options.trace})
    if (!file.empty())
      if (const MaybeError bad = files::check_writable(file)) return bad;
  choice.profile = !options.annotate.empty();
  if (!options.trace.empty()) choice.trace = *workgroup;
  return std::nullopt;
}

void publish_profile(const app::LaunchProfile& profile, const ProfileOptions& options,
                     Publisher& out) {
  out.file(options.annotate, [&] { return profile.annotated(); });
  if (!options.trace.empty() && !profile.traced())
    return out.lost(Error{ErrorCode::usage, "no launch had a workgroup " + options.workgroup});
  out.file(options.trace, [&] { return profile.trace(); });
}

}  // namespace mla::cli

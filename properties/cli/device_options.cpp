#include "properties/cli/device_options.hpp"

#include "properties/cli/options.hpp"

namespace mla::cli {

void add_emulation_options(Command& command, app::EmulationChoice& choice) {
  command.add_flag(
      "--checks{all}", choice.checks,
      "Checks of an emulated device: waits, lds, global, uninitialised and barriers; "
      "or --checks=LIST of these, all, dropped and banks (docs/reference/emulator.md)");
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

void add_device_options(Command& command, app::DeviceChoice& choice) {
  command
      .add_option("--device", choice.device,
                  "Device of backends hip and aiter: auto, hip:0, nvidia:0, emulated:gfx942, "
                  "emulated:gfx950")
      .type_name("NAME")
      .show_default();
  add_aiter_option(command, choice.aiter_hsa);
  command
      .add_option("--aiter-reduce", choice.aiter_reduce,
                  "Code object of AITER's reduce, which backend aiter then merges with")
      .type_name("FILE");
  command
      .add_option("--aiter-opus", choice.aiter_opus,
                  "Code object of AITER's OPUS decode, which backend aiter then runs for fp8")
      .type_name("FILE");
  add_emulation_options(command, choice.emulation);
}

}  // namespace mla::cli

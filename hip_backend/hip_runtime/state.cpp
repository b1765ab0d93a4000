#include "hip_backend/hip_runtime/state.hpp"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/say.hpp"
#include "hip_backend/gfx_emulator/report/progress.hpp"
#include "hip_backend/gfx_emulator/run/instruction_limit.hpp"
#include "hip_backend/gfx_emulator/run/run_words.hpp"

namespace mla::hip_runtime {

namespace {

// What stands between the commas.
std::vector<std::string_view> words_of_list(std::string_view list) {
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t comma = list.find(',');
    words.push_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return words;
    list.remove_prefix(comma + 1);
  }
}

// Of MLA_TESTBED_EXIT_CODE, 0: none; and whether there was something to say at the end.
int exit_code = 0;
bool said = false;

// After ~Runtime(). What was registered before the first call of HIP is not called any more.
void end_with_exit_code(int code, void*) {
  if (code != 0 || !said) return;
  std::fflush(nullptr);
  _exit(exit_code);
}

}  // namespace

void Runtime::take_exit_code() {
  const char* const text = std::getenv("MLA_TESTBED_EXIT_CODE");
  if (text == nullptr || *text == '\0') return;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), exit_code);
  if (error != std::errc{} || *end != '\0' || exit_code < 1 || exit_code > kMostExitCode) {
    launched.faults.push_back(
        say("MLA_TESTBED_EXIT_CODE is '", text, "'; expected 1 to ", kMostExitCode));
    exit_code = 1;
  }
  on_exit(end_with_exit_code, nullptr);
}

Runtime::Runtime() {
  take_exit_code();
  take_run_words();
  const auto limit = gfx::usual_instruction_limit();
  if (!limit) launched.faults.push_back(limit.error().message);
  device.options.instruction_limit = limit ? *limit : gfx::most_instructions;
  device.options.progress = gfx::progress_wanted();
  if (const char* const units = std::getenv("MLA_TESTBED_UNITS")) {
    const auto [end, error] = std::from_chars(units, units + std::strlen(units), device.units);
    if (error != std::errc{} || *end != '\0' || device.units < 1 || device.units > kMostUnits) {
      launched.faults.push_back(
          say("MLA_TESTBED_UNITS is '", units, "'; expected 1 to ", kMostUnits, " compute units"));
      device.units = 0;
    }
  }
  const char* const arch = std::getenv("MLA_TESTBED_ARCH");
  const std::string_view name = arch == nullptr ? "" : arch;
  if (name == "gfx942") wanted = gfx::Arch::gfx942;
  if (name == "gfx950") wanted = gfx::Arch::gfx950;
  if (!name.empty() && !wanted)
    launched.faults.push_back(say("MLA_TESTBED_ARCH is '", name,
                                  "'; expected gfx942 or gfx950: the program's first code ",
                                  "chooses"));
}

void Runtime::take_run_words() {
  const auto timing = gfx::run_of_environment();
  if (timing)
    device.options = *timing;
  else
    launched.faults.push_back(timing.error().message);
  const char* const value = std::getenv("MLA_HIP_CHECKS");
  const std::string_view words = value == nullptr ? "" : value;
  if (words == "1" || words == "coherence") {
    device.options.checks = gfx::every_check;
    device.options.checks.lanes = true;
    device.options.checks.coherence = words == "coherence";
    device.stream_races = true;
    return;
  }
  // One word is of streams, which the emulator does not know.
  std::string others;
  for (const std::string_view word : words_of_list(words)) {
    if (word == "streams")
      device.stream_races = true;
    else
      others.append(others.empty() ? "" : ",").append(word);
  }
  if (others.empty() && device.stream_races) {
    device.options.checks.barriers = false;
    return;
  }
  const auto checks = gfx::checks_from("MLA_HIP_CHECKS", others);
  if (checks)
    device.options.checks = *checks;
  else
    launched.faults.push_back(checks.error().message);
}

Runtime::~Runtime() {
  for (const auto& [kernel, note] : launched.notes)
    std::fprintf(stderr, "HIP on the emulator: note: %s\n", note.c_str());
  for (const auto* sentences : {&launched.faults, &launched.findings})
    for (const std::string& sentence : *sentences) {
      said = true;
      std::fprintf(stderr, "HIP on the emulator: %s\n", sentence.c_str());
    }
}

Runtime& runtime() {
  static Runtime instance;
  return instance;
}

hipError_t& last_error() {
  thread_local hipError_t last = hipSuccess;
  return last;
}

Configuration& configuration() {
  thread_local Configuration pushed;
  return pushed;
}

namespace {
std::recursive_mutex& turns() {
  static std::recursive_mutex mutex;
  return mutex;
}
}  // namespace

Turn::Turn() : lock_(turns()) {}

std::optional<gfx::Arch> Runtime::arch() const {
  if (wanted) return wanted;
  for (const auto& unit : units)
    if (unit->arch()) return unit->arch();
  for (const auto& module : modules)
    if (module->unit.arch()) return module->unit.arch();
  return std::nullopt;
}

hipError_t keep(hipError_t error) {
  if (error != hipSuccess) last_error() = error;
  return error;
}

hipError_t fault(hipError_t error, const std::string& sentence) {
  runtime().launched.faults.push_back(sentence);
  return keep(error);
}

hipError_t waited(hipError_t refused) {
  if (refused != hipSuccess) return refused;
  return keep(runtime().faulted);
}

void set_device(const Device& device) {
  runtime().device = device;
}

gfx::Memory& memory() {
  return runtime().memory;
}

Launched take_launched() {
  return std::exchange(runtime().launched, {});
}

}  // namespace mla::hip_runtime

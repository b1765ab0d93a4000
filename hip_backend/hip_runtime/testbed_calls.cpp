// hip_testbed.h: what is asked of the emulated device beside HIP.
#include "hip_backend/hip_runtime/hip/hip_testbed.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "hip_backend/gfx_emulator/run/run_words.hpp"
#include "hip_backend/hip_runtime/state.hpp"
#include "hip_backend/hip_runtime/stream_races.hpp"

namespace rt = mla::hip_runtime;
namespace gfx = mla::gfx;

namespace {

// As the source has it: "mla::decode", of a mangled name. Template arguments and parameters are
// left out, so that no demangler has to know their types.
std::string readable(const std::string& kernel) {
  std::string_view rest = kernel;
  if (!rest.starts_with("_Z")) return kernel;
  rest.remove_prefix(std::min(rest.find_first_of("0123456789"), rest.size()));
  std::string name;
  std::size_t length = 0;
  for (;;) {
    const auto [end, bad] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (bad != std::errc() || length > rest.size()) break;
    const std::string_view part = rest.substr(0, length);
    rest.remove_prefix(length);
    if (part.starts_with("_GLOBAL__N")) continue;  // a namespace without a name
    name += (name.empty() ? "" : "::") + std::string(part);
  }
  return name.empty() ? kernel : name;
}

int give_lines(const std::vector<std::string>& lines, char* text, std::size_t bytes) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  if (text != nullptr && bytes != 0) {
    const std::size_t fits = std::min(all.size(), bytes - 1);
    std::memcpy(text, all.data(), fits);
    text[fits] = '\0';
  }
  return static_cast<int>(lines.size());
}

}  // namespace

extern "C" {

hipError_t hipTestbedAddRange(void* base, std::size_t bytes, const char* name) {
  const rt::Turn turn;
  if (base == nullptr || name == nullptr) return rt::keep(hipErrorInvalidValue);
  (void)rt::runtime().memory.release(base);
  if (rt::StreamRaces* const races = rt::stream_races()) races->forget(base, bytes);
  const auto error = rt::runtime().memory.add({static_cast<std::byte*>(base), bytes}, name,
                                              gfx::Rights::read_write);
  return error ? rt::keep(hipErrorInvalidValue) : hipSuccess;
}
hipError_t hipTestbedRemoveRange(void* base) {
  const rt::Turn turn;
  return rt::runtime().memory.release(base) ? rt::keep(hipErrorInvalidValue) : hipSuccess;
}
hipError_t hipTestbedDeferFaults(int defer) {
  const rt::Turn turn;
  rt::runtime().defers_faults = defer != 0;
  return hipSuccess;
}
int hipTestbedTakeFaults(char* text, std::size_t bytes) {
  const rt::Turn turn;
  auto& launched = rt::runtime().launched;
  auto lines = std::exchange(launched.faults, {});
  const auto findings = std::exchange(launched.findings, {});
  lines.insert(lines.end(), findings.begin(), findings.end());
  return give_lines(lines, text, bytes);
}
int hipTestbedTakeLaunches(char* text, std::size_t bytes) {
  const rt::Turn turn;
  auto kernels = std::exchange(rt::runtime().launched.kernels, {});
  for (std::string& kernel : kernels) kernel = readable(kernel);
  return give_lines(kernels, text, bytes);
}
hipError_t hipTestbedSetUnits(int units) {
  const rt::Turn turn;
  if (units < 1 || units > rt::kMostUnits) return rt::keep(hipErrorInvalidValue);
  rt::runtime().device.units = units;
  return hipSuccess;
}
hipError_t hipTestbedSetRun(const char* checks, const char* schedule, const char* arrival,
                            const char* matrix) {
  const rt::Turn turn;
  const auto words = [](const char* text) { return std::string_view(text == nullptr ? "" : text); };
  const auto checked = gfx::checks_from("checks", words(checks));
  const auto scheduled = gfx::schedule_from("schedule", words(schedule));
  const auto arriving = gfx::arrival_from("arrival", words(arrival));
  const auto multiplied = gfx::matrix_from("matrix", words(matrix));
  if (!checked) return rt::fault(hipErrorInvalidValue, checked.error().message);
  if (!scheduled) return rt::fault(hipErrorInvalidValue, scheduled.error().message);
  if (!arriving) return rt::fault(hipErrorInvalidValue, arriving.error().message);
  if (!multiplied) return rt::fault(hipErrorInvalidValue, multiplied.error().message);
  gfx::RunOptions& run = rt::runtime().device.options;
  run.checks = *checked;
  run.checks.global_notes = true;
  run.schedule = *scheduled;
  run.arrival = *arriving;
  run.mfma = *multiplied;
  return hipSuccess;
}
void hipTestbedCount(unsigned long long* launches, unsigned long long* instructions) {
  const rt::Turn turn;
  *launches = rt::runtime().launched.launches;
  *instructions = rt::runtime().launched.instructions;
}

}  // extern "C"

// hip_testbed.h: what is asked of the emulated device beside HIP.
#include "hip_backend/hip_runtime/hip/hip_testbed.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "hip_backend/gfx_emulator/run/run_words.hpp"
#include "hip_backend/hip_runtime/state.hpp"

namespace rt = mla::hip_runtime;
namespace gfx = mla::gfx;

extern "C" {

hipError_t hipTestbedAddRange(void* base, std::size_t bytes, const char* name) {
  const rt::Turn turn;
  if (base == nullptr || name == nullptr) return rt::keep(hipErrorInvalidValue);
  (void)rt::runtime().memory.release(base);
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
  std::string all;
  for (const auto* sentences : {&launched.faults, &launched.findings})
    for (const std::string& sentence : *sentences) all += sentence + "\n";
  const auto lines = static_cast<int>(launched.faults.size() + launched.findings.size());
  if (text != nullptr && bytes != 0) {
    const std::size_t fits = std::min(all.size(), bytes - 1);
    std::memcpy(text, all.data(), fits);
    text[fits] = '\0';
  }
  launched.faults.clear();
  launched.findings.clear();
  return lines;
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

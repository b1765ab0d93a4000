#include "properties/c_api/aiter/machine.hpp"

#include <charconv>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "core/say.hpp"

namespace mla::c_api::aiter {
namespace {

constexpr std::int64_t kMaxUnits = 4096;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Error wrong(const char* name, const std::string& value, const std::string& expected) {
  return {ErrorCode::usage, say("the variable ", name, " is '", value, "'; expected ", expected)};
}

Result<std::int64_t> compute_units() {
  const std::string text = variable("CU_NUM");
  std::int64_t units = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), units);
  if (failed != std::errc() || end != text.data() + text.size() || units < 1 || units > kMaxUnits)
    return wrong("CU_NUM", text, say("1 to ", kMaxUnits));
  return units;
}

// The last one opened stays open: code objects are read once.
Result<std::shared_ptr<hip::aiter::Installation>> installation_at(const std::string& directory) {
  static std::mutex mutex;
  static std::shared_ptr<hip::aiter::Installation> open;
  const std::scoped_lock lock(mutex);
  if (open == nullptr || open->directory() != directory) {
    auto found = hip::aiter::Installation::open(directory);
    if (!found) return found.error();
    open = std::move(*found);
  }
  return open;
}

Result<Machine> with_installation(Machine machine) {
  const std::string hsa = variable("AITER_HSA");
  if (!hsa.empty()) {
    auto installation = installation_at(hsa);
    if (!installation) return installation.error();
    machine.installation = std::move(*installation);
  } else if (machine.execution == Execution::code_objects) {
    return wrong("AITER_HSA", hsa, "the directory 'hsa' of an AITER, for backend aiter");
  }
  return machine;
}

}  // namespace

Result<Machine> this_machine() {
  Machine machine;
  const std::string arch = variable("GPU_ARCHS");
  if (arch == "gfx950") {
    machine.arch = Arch::gfx950;
  } else if (arch != "gfx942") {
    return wrong("GPU_ARCHS", arch, "gfx942 or gfx950");
  }
  auto units = compute_units();
  if (!units) return units.error();
  machine.compute_units = *units;
  const std::string backend = variable("MLA_TESTBED_BACKEND");
  if (backend == "aiter") {
    machine.execution = Execution::code_objects;
  } else if (!backend.empty() && backend != "cpu") {
    return wrong("MLA_TESTBED_BACKEND", backend, "cpu or aiter");
  }
  return with_installation(std::move(machine));
}

Result<Machine> code_object_machine(Arch arch) {
  return with_installation({.arch = arch,
                            .compute_units = product_compute_units(arch).count(),
                            .execution = Execution::code_objects,
                            .installation = nullptr});
}

}  // namespace mla::c_api::aiter

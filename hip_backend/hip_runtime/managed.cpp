#include "hip_backend/hip_runtime/managed.hpp"

#include <algorithm>
#include <cstring>

#include "core/say.hpp"

namespace mla::hip_runtime {
namespace {

struct Managed {
  const Unit* unit;
  std::span<std::byte> bytes;
};
std::vector<Managed>& all() {
  static std::vector<Managed> variables;
  return variables;
}

}  // namespace

void add_managed(const Unit& unit, void** pointer, const char* name,
                 std::span<const std::byte> initial) {
  // Not the name of hipMalloc()'s ranges: hipFree() and hipDeviceReset() leave it alone.
  const auto memory = runtime().memory.allocate(initial.size(), say("__managed__ ", name));
  if (!memory) {
    // This runs before main(): there is no caller to return an error to.
    runtime().launched.faults.push_back(
        say("no memory for the __managed__ variable ", name, " of ", initial.size(), " bytes"));
    return;
  }
  std::memcpy(memory->data(), initial.data(), initial.size());
  *pointer = memory->data();
  const std::span<std::byte> in_code = unit.variable(name);
  if (in_code.size() == sizeof *pointer) std::memcpy(in_code.data(), pointer, sizeof *pointer);
  runtime().shared[*pointer] = {hipMemoryTypeManaged, hipMemAttachGlobal};
  all().push_back({&unit, {memory->data(), initial.size()}});
}

void remove_managed(const Unit& unit) {
  for (const Managed& one : all()) {
    if (one.unit != &unit) continue;
    runtime().shared.erase(one.bytes.data());
    (void)runtime().memory.release(one.bytes.data());
  }
  std::erase_if(all(), [&](const Managed& one) { return one.unit == &unit; });
}

std::span<std::byte> managed_at(const void* address) {
  for (const Managed& one : all())
    if (one.bytes.data() == address) return one.bytes;
  return {};
}

}  // namespace mla::hip_runtime

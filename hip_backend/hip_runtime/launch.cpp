#include "hip_backend/hip_runtime/launch.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "core/say.hpp"
#include "hip_backend/gfx_emulator/load.hpp"
#include "hip_backend/gfx_emulator/run/end_by_signal.hpp"
#include "hip_backend/gfx_emulator/run/watched.hpp"
#include "hip_backend/hip_runtime/print.hpp"
#include "hip_backend/hip_runtime/stream_races.hpp"

namespace mla::hip_runtime {
namespace {

constexpr std::size_t kArgumentLine = 64;  // bytes of a cache line

// Bytes up to the end of the last argument that the program gives; the others are hidden ones.
std::size_t declared_bytes(const gfx::Kernel& kernel) {
  std::size_t bytes = 0;
  for (const gfx::Argument& argument : kernel.arguments)
    if (!argument.kind.starts_with("hidden"))
      bytes = std::max(bytes, std::size_t{argument.offset} + argument.size);
  return bytes;
}

// A kernel that was not launched by the stub of its source, others may have compiled.
gfx::RunOptions options_for(bool by_handle) {
  gfx::RunOptions options = runtime().device.options;
  options.checks.barrier_notes = by_handle && !options.checks.barriers_by_name;
  return options;
}

// The block of arguments that HIP_LAUNCH_PARAM_BUFFER_POINTER and _SIZE name; null if there is
// none.
const std::byte* buffer_of(void** extra, std::size_t& size) {
  const std::byte* buffer = nullptr;
  for (; extra != nullptr && *extra != HIP_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == HIP_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = static_cast<const std::byte*>(extra[1]);
    else if (*extra == HIP_LAUNCH_PARAM_BUFFER_SIZE)
      size = *static_cast<const std::size_t*>(extra[1]);
    else
      return nullptr;
  }
  return buffer;
}

}  // namespace

std::size_t elf_size(const std::byte* image) {
  std::uint64_t sections = 0;
  std::uint16_t entry_size = 0, count = 0;
  std::memcpy(&sections, image + 40, sizeof sections);
  std::memcpy(&entry_size, image + 58, sizeof entry_size);
  std::memcpy(&count, image + 60, sizeof count);
  return sections + std::size_t{entry_size} * count;
}

std::vector<std::byte> packed(const gfx::Kernel& kernel, void** arguments) {
  std::vector<std::byte> out(kernel.kernarg_size);
  for (const gfx::Argument& argument : kernel.arguments) {
    if (argument.kind.starts_with("hidden")) continue;
    std::memcpy(out.data() + argument.offset, *arguments++, argument.size);
  }
  return out;
}

hipError_t arguments_of(const char* call, const Function& function, const gfx::Kernel& kernel,
                        void** arguments, void** extra, std::vector<std::byte>& kernarg) {
  std::size_t size = 0;
  const std::byte* const buffer = buffer_of(extra, size);
  const std::size_t declared = declared_bytes(kernel);
  if (declared != 0 && (arguments != nullptr) == (buffer != nullptr))
    return fault(
        hipErrorInvalidValue,
        say(call, ": ", function.name, " needs its arguments once, as pointers or as one block"));
  if (buffer != nullptr && size < declared)
    return fault(hipErrorInvalidValue, say(call, ": ", function.name, " has ", declared,
                                           " bytes of arguments, the block ", size));
  if (buffer != nullptr)
    kernarg.assign(buffer, buffer + size);
  else if (arguments != nullptr)
    kernarg = packed(kernel, arguments);
  return hipSuccess;
}

const gfx::Kernel* kernel_of(const Function& function) {
  const auto object = function.unit->code_of(function.name);
  if (object) return (*object)->kernel(function.name);
  fault(hipErrorInvalidDeviceFunction, say(function.name, ": ", object.error().message));
  return nullptr;
}

const gfx::Kernel* registered_kernel(const char* call, const void* stub) {
  const auto found = runtime().functions.find(stub);
  if (found != runtime().functions.end()) return kernel_of(found->second);
  fault(hipErrorInvalidDeviceFunction, say(call, ": no code object registered this kernel"));
  return nullptr;
}

hipError_t launch(const Function& function, dim3 grid, dim3 block,
                  std::span<const std::byte> kernarg, std::size_t dynamic_lds, bool by_handle) {
  Runtime& r = runtime();
  for (const std::uint32_t count : {grid.x, grid.y, grid.z, block.x, block.y, block.z}) {
    if (count != 0) continue;
    return fault(hipErrorInvalidConfiguration,
                 say(function.name, ": a grid of ", grid.x, " x ", grid.y, " x ", grid.z,
                     " blocks of ", block.x, " x ", block.y, " x ", block.z,
                     " threads was launched; each number has to be 1 or more"));
  }
  const auto code = function.unit->code_of(function.name);
  if (!code)
    return fault(hipErrorInvalidDeviceFunction, say(function.name, ": ", code.error().message));
  if (const auto error = prepare_printing(**code))
    return fault(hipErrorOutOfMemory, function.name + ": " + error->message);
  // Compilers widen scalar loads past the last argument, which a GPU's memory for arguments allows.
  std::vector<std::byte> arguments(kernarg.begin(), kernarg.end());
  arguments.resize((kernarg.size() + kArgumentLine - 1) / kArgumentLine * kArgumentLine);
  // Who defers faults is Python, whose handler only notes the signal.
  const gfx::EndBySignal signals(r.defers_faults ? gfx::Interrupts::end_too
                                                 : gfx::Interrupts::are_the_programs);
  StreamRaces* const races = stream_races();
  if (races != nullptr) races->begin("kernel '" + function.name + "'");
  const auto report = gfx::run_watched(**code,
                                       {
                                           .kernel = function.name,
                                           .grid = {grid.x, grid.y, grid.z},
                                           .block = {block.x, block.y, block.z},
                                           .kernarg = arguments,
                                           .dynamic_lds = static_cast<std::uint32_t>(dynamic_lds),
                                           .options = options_for(by_handle),
                                       },
                                       r.memory, races);
  const Printed printed = take_printed();
  std::fputs(printed.text.c_str(), stdout);
  for (const std::string& assertion : printed.assertions)
    r.launched.faults.push_back(function.name + ": " + assertion);
  if (!report) {
    signals.end_process(report.error().message);
    return fault(hipErrorInvalidValue, function.name + ": " + report.error().message);
  }
  ++r.launched.launches;
  if (r.launched.kernels.size() < kMostNamedLaunches) r.launched.kernels.push_back(function.name);
  r.launched.instructions += report->statistics.instructions;
  for (const gfx::Event& event : report->findings) r.launched.findings.push_back(event.line());
  for (const gfx::Event& event : report->faults) r.launched.faults.push_back(event.line());
  if (!report->notes.empty())
    r.launched.notes.try_emplace(function.name, report->notes.front().line());
  if (r.defers_faults) return hipSuccess;
  if (!printed.assertions.empty()) return keep(r.faulted = hipErrorAssert);
  if (!report->faults.empty()) return keep(r.faulted = hipErrorLaunchFailure);
  return hipSuccess;
}

}  // namespace mla::hip_runtime

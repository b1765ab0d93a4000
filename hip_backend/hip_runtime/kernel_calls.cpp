// Registration of code objects, and launches.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/say.hpp"
#include "hip_backend/gfx_emulator/load.hpp"
#include "hip_backend/gfx_emulator/run/end_by_signal.hpp"
#include "hip_backend/hip_runtime/launch.hpp"
#include "hip_backend/hip_runtime/print.hpp"
#include "hip_backend/hip_runtime/state.hpp"

namespace mla::hip_runtime {
namespace {
constexpr std::size_t kArgumentLine = 64;  // bytes of a cache line
}

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

const gfx::Kernel* kernel_of(const Function& function) {
  const auto object = function.unit->code_of(function.name);
  if (object) return (*object)->kernel(function.name);
  fault(hipErrorInvalidDeviceFunction, say(function.name, ": ", object.error().message));
  return nullptr;
}

hipError_t launch(const Function& function, dim3 grid, dim3 block,
                  std::span<const std::byte> kernarg, std::size_t dynamic_lds) {
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
  const auto report = gfx::run(**code,
                               {.kernel = function.name,
                                .grid = {grid.x, grid.y, grid.z},
                                .block = {block.x, block.y, block.z},
                                .kernarg = arguments,
                                .dynamic_lds = static_cast<std::uint32_t>(dynamic_lds),
                                .options = r.device.options},
                               r.memory);
  const Printed printed = take_printed();
  std::fputs(printed.text.c_str(), stdout);
  for (const std::string& assertion : printed.assertions)
    r.launched.faults.push_back(function.name + ": " + assertion);
  if (!report) {
    signals.end_process(report.error().message);
    return fault(hipErrorInvalidValue, function.name + ": " + report.error().message);
  }
  ++r.launched.launches;
  r.launched.instructions += report->statistics.instructions;
  for (const gfx::Event& event : report->findings) r.launched.findings.push_back(event.line());
  for (const gfx::Event& event : report->faults) r.launched.faults.push_back(event.line());
  if (r.defers_faults) return hipSuccess;
  if (!printed.assertions.empty()) return keep(hipErrorAssert);
  return keep(report->faults.empty() ? hipSuccess : hipErrorLaunchFailure);
}

}  // namespace mla::hip_runtime

namespace rt = mla::hip_runtime;

// What the compiler's own code calls; no header declares it.
#pragma GCC visibility push(default)
extern "C" {

// clang's wrapper of what -fcuda-include-gpubinary embeds: a code object, or a bundle of several.
struct MlaFatBinary {
  std::uint32_t magic, version;
  const std::byte* image;
  void* unused;
};

void** __hipRegisterFatBinary(const MlaFatBinary* wrapper) {
  const rt::Turn turn;
  // This runs before main(): there is no caller to return an error to, a launch says it.
  auto& units = rt::runtime().units;
  const auto image = rt::image_at(wrapper->image, rt::runtime().arch());
  auto unit = image ? rt::Unit::of(*image) : image.error();
  units.push_back(std::make_unique<rt::Unit>(unit ? std::move(*unit) : rt::Unit(unit.error())));
  return reinterpret_cast<void**>(units.back().get());
}
void __hipRegisterFunction(void** module, const void* stub, char*, const char* name, unsigned,
                           void*, void*, void*, void*, int*) {
  const rt::Turn turn;
  rt::runtime().functions[stub] = {reinterpret_cast<rt::Unit*>(module), name};
}
void __hipRegisterVar(void** module, const void* shadow, char*, const char* name, int, std::size_t,
                      int, int) {
  const rt::Turn turn;
  rt::runtime().variables[shadow] = {reinterpret_cast<rt::Unit*>(module), name};
}
// The program ends, or a library of it is unloaded.
void __hipUnregisterFatBinary(void** module) {
  const rt::Turn turn;
  const auto* const unit = reinterpret_cast<const rt::Unit*>(module);
  const auto of_it = [&](const auto& named) { return named.second.unit == unit; };
  std::erase_if(rt::runtime().functions, of_it);
  std::erase_if(rt::runtime().variables, of_it);
  std::erase_if(rt::runtime().units, [&](const auto& u) { return u.get() == unit; });
}

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, std::size_t lds, hipStream_t stream) {
  rt::configuration() = {grid, block, lds, stream};
  return hipSuccess;
}
hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, std::size_t* lds,
                                     hipStream_t* stream) {
  const auto& configuration = rt::configuration();
  *grid = configuration.grid;
  *block = configuration.block;
  *lds = configuration.lds;
  *stream = configuration.stream;
  return hipSuccess;
}
}
#pragma GCC visibility pop

extern "C" {

hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                           std::size_t dynamic_lds, hipStream_t) {
  const rt::Turn turn;
  const auto found = rt::runtime().functions.find(kernel);
  if (found == rt::runtime().functions.end()) {
    return rt::fault(hipErrorInvalidDeviceFunction,
                     "a kernel was launched that no code object registered");
  }
  const auto* const code = rt::kernel_of(found->second);
  if (code == nullptr) return rt::last_error();
  return rt::launch(found->second, grid, block, rt::packed(*code, arguments), dynamic_lds);
}
hipError_t hipLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                      unsigned dynamic_lds, hipStream_t stream) {
  const rt::Turn turn;
  int fitting = 0;
  const auto threads = static_cast<int>(block.x * block.y * block.z);
  const hipError_t unknown =
      hipOccupancyMaxActiveBlocksPerMultiprocessor(&fitting, kernel, threads, dynamic_lds);
  if (unknown != hipSuccess) return unknown;
  const auto blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  const auto most = static_cast<std::uint64_t>(fitting) *
                    static_cast<std::uint64_t>(rt::runtime().compute_units());
  if (blocks > most)
    return rt::fault(hipErrorCooperativeLaunchTooLarge,
                     mla::say("hipLaunchCooperativeKernel: ", blocks, " blocks of ", threads,
                              " threads; ", most, " fit on the device at once"));
  return hipLaunchKernel(kernel, grid, block, arguments, dynamic_lds, stream);
}

}  // extern "C"

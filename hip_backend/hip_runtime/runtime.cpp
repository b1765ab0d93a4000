#include "hip_backend/hip_runtime/runtime.hpp"

#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "hip_backend/gfx_emulator/code_object.hpp"
#include "hip_backend/hip_runtime/hip/hip_runtime.h"

namespace mla::hip_runtime {
namespace {

struct Function {
  const gfx::CodeObject* object;
  std::string name;
};

struct Configuration {
  dim3 grid, block;
  std::size_t lds = 0;
  hipStream_t stream = nullptr;
};

struct Runtime {
  std::vector<std::unique_ptr<gfx::CodeObject>> objects;
  std::map<const void*, Function> functions;  // by the address of the host's stub
  gfx::Memory memory;
  Device device;
  Launched launched;
  Configuration configuration;  // between the push of <<<>>> and the pop of the stub
  hipError_t last = hipSuccess;
  [[nodiscard]] bool is_gfx950() const {
    return !objects.empty() && objects.front()->arch() == gfx::Arch::gfx950;
  }
};

// Programs register their code before main(): built at the first use.
Runtime& runtime() {
  static Runtime instance;
  return instance;
}

hipError_t keep(hipError_t error) {
  if (error != hipSuccess) runtime().last = error;
  return error;
}

hipError_t fault(hipError_t error, const std::string& sentence) {
  runtime().launched.faults.push_back(sentence);
  return keep(error);
}

// The size of an ELF file: its section headers stand at the end.
std::size_t elf_size(const std::byte* image) {
  std::uint64_t sections = 0;
  std::uint16_t entry_size = 0, count = 0;
  std::memcpy(&sections, image + 40, sizeof sections);
  std::memcpy(&entry_size, image + 58, sizeof entry_size);
  std::memcpy(&count, image + 60, sizeof count);
  return sections + std::size_t{entry_size} * count;
}

// What hipLaunchKernel gets: a pointer to each argument, in the order of the declaration.
std::vector<std::byte> packed(const gfx::Kernel& kernel, void** arguments) {
  std::vector<std::byte> out(kernel.kernarg_size);
  for (const gfx::Argument& argument : kernel.arguments) {
    if (argument.kind.starts_with("hidden")) continue;
    std::memcpy(out.data() + argument.offset, *arguments++, argument.size);
  }
  return out;
}

hipError_t launch(const Function& function, dim3 grid, dim3 block, void** arguments,
                  std::size_t lds) {
  Runtime& r = runtime();
  const gfx::Kernel* const kernel = function.object->kernel(function.name);
  if (kernel == nullptr) {
    return fault(hipErrorInvalidDeviceFunction, "there is no code for " + function.name);
  }
  const auto kernarg = packed(*kernel, arguments);
  const auto report = gfx::run(*function.object,
                               {.kernel = function.name,
                                .grid = {grid.x, grid.y, grid.z},
                                .block = {block.x, block.y, block.z},
                                .kernarg = kernarg,
                                .dynamic_lds = static_cast<std::uint32_t>(lds),
                                .options = r.device.options},
                               r.memory);
  if (!report) return fault(hipErrorInvalidValue, function.name + ": " + report.error().message);
  ++r.launched.launches;
  r.launched.instructions += report->statistics.instructions;
  for (const gfx::Event& event : report->findings) r.launched.findings.push_back(event.line());
  for (const gfx::Event& event : report->faults) r.launched.faults.push_back(event.line());
  return keep(report->faults.empty() ? hipSuccess : hipErrorLaunchFailure);
}

hipError_t allocate(void** pointer, std::size_t bytes) {
  if (bytes == 0) return *pointer = nullptr, hipSuccess;
  const auto range = runtime().memory.allocate(bytes, "hipMalloc");
  if (!range) return keep(hipErrorOutOfMemory);
  *pointer = range->data();
  return hipSuccess;
}

hipError_t release(void* pointer) {
  if (pointer == nullptr) return hipSuccess;
  return runtime().memory.release(pointer) ? keep(hipErrorInvalidValue) : hipSuccess;
}

}  // namespace

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

using mla::hip_runtime::runtime;

extern "C" {

// clang's wrapper of what -fcuda-include-gpubinary embeds: here the code object itself.
struct MlaFatBinary {
  std::uint32_t magic, version;
  const std::byte* image;
  void* unused;
};

void** __hipRegisterFatBinary(const MlaFatBinary* wrapper) {
  const std::byte* const image = wrapper->image;
  auto object = mla::gfx::load_code_object({image, mla::hip_runtime::elf_size(image)}, {});
  if (!object) {
    // There is nobody to return an error to: this runs before main().
    std::fprintf(stderr, "HIP on the emulator: %s\n", object.error().message.c_str());
    std::abort();
  }
  auto& objects = runtime().objects;
  objects.push_back(std::make_unique<mla::gfx::CodeObject>(std::move(*object)));
  return reinterpret_cast<void**>(objects.back().get());
}
void __hipRegisterFunction(void** module, const void* stub, char*, const char* name, unsigned,
                           void*, void*, void*, void*, int*) {
  runtime().functions[stub] = {reinterpret_cast<const mla::gfx::CodeObject*>(module), name};
}
void __hipUnregisterFatBinary(void**) {}

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, std::size_t lds, hipStream_t stream) {
  runtime().configuration = {grid, block, lds, stream};
  return hipSuccess;
}
hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, std::size_t* lds,
                                     hipStream_t* stream) {
  const auto& configuration = runtime().configuration;
  *grid = configuration.grid;
  *block = configuration.block;
  *lds = configuration.lds;
  *stream = configuration.stream;
  return hipSuccess;
}
hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                           std::size_t dynamic_lds, hipStream_t) {
  const auto found = runtime().functions.find(kernel);
  if (found == runtime().functions.end()) {
    return mla::hip_runtime::fault(hipErrorInvalidDeviceFunction,
                                   "a kernel was launched that no code object registered");
  }
  return mla::hip_runtime::launch(found->second, grid, block, arguments, dynamic_lds);
}

const char* hipGetErrorString(hipError_t error) {
  return error == hipSuccess ? "no error" : "an error on the emulated device";
}
hipError_t hipGetLastError() {
  return std::exchange(runtime().last, hipSuccess);
}
hipError_t hipGetDevice(int* device) {
  return *device = 0, hipSuccess;
}
hipError_t hipSetDevice(int device) {
  return device == 0 ? hipSuccess : mla::hip_runtime::keep(hipErrorInvalidDevice);
}
hipError_t hipGetDeviceCount(int* count) {
  return *count = 1, hipSuccess;
}
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  if (device != 0) return mla::hip_runtime::keep(hipErrorInvalidDevice);
  *properties = {};
  const bool gfx950 = runtime().is_gfx950();
  std::strcpy(properties->name, gfx950 ? "emulated MI355X" : "emulated MI300X");
  std::strcpy(properties->gcnArchName,
              gfx950 ? "gfx950:sramecc+:xnack-" : "gfx942:sramecc+:xnack-");
  properties->sharedMemPerBlock = properties->maxSharedMemoryPerMultiProcessor =
      gfx950 ? 160 << 10 : 64 << 10;
  properties->multiProcessorCount = runtime().device.units;
  properties->warpSize = 64;
  properties->major = 9;
  properties->minor = gfx950 ? 5 : 4;
  return hipSuccess;
}
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  hipDeviceProp_t properties;
  if (const auto bad = hipGetDeviceProperties(&properties, device)) return bad;
  switch (attribute) {
    case hipDeviceAttributeWarpSize:
      return *value = properties.warpSize, hipSuccess;
    case hipDeviceAttributeMultiprocessorCount:
      return *value = properties.multiProcessorCount, hipSuccess;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
      return *value = static_cast<int>(properties.sharedMemPerBlock), hipSuccess;
    default:
      return mla::hip_runtime::keep(hipErrorNotSupported);
  }
}
hipError_t hipDeviceSynchronize() {
  return hipSuccess;
}
hipError_t hipStreamSynchronize(hipStream_t) {
  return hipSuccess;
}
hipError_t hipStreamIsCapturing(hipStream_t, hipStreamCaptureStatus* status) {
  return *status = hipStreamCaptureStatusNone, hipSuccess;
}

hipError_t hipMalloc(void** pointer, std::size_t bytes) {
  return mla::hip_runtime::allocate(pointer, bytes);
}
hipError_t hipMallocAsync(void** pointer, std::size_t bytes, hipStream_t) {
  return mla::hip_runtime::allocate(pointer, bytes);
}
hipError_t hipFree(void* pointer) {
  return mla::hip_runtime::release(pointer);
}
hipError_t hipFreeAsync(void* pointer, hipStream_t) {
  return mla::hip_runtime::release(pointer);
}
hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind) {
  return std::memmove(to, from, bytes), hipSuccess;
}
hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind,
                          hipStream_t) {
  return std::memmove(to, from, bytes), hipSuccess;
}
hipError_t hipMemset(void* to, int value, std::size_t bytes) {
  return std::memset(to, value, bytes), hipSuccess;
}
hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes, hipStream_t) {
  return std::memset(to, value, bytes), hipSuccess;
}

}  // extern "C"

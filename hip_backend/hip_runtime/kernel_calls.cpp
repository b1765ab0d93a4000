// Registration of code objects, and launches.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/bundle.hpp"
#include "hip_backend/hip_runtime/launch.hpp"
#include "hip_backend/hip_runtime/managed.hpp"
#include "hip_backend/hip_runtime/stream.hpp"

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
// A variable with __managed__: what the program has is a pointer, and what kernels have is another,
// both to memory of ours.
void __hipRegisterManagedVar(void** module, void** pointer, const void* initial, const char* name,
                             std::size_t bytes, unsigned) {
  const rt::Turn turn;
  rt::add_managed(*reinterpret_cast<rt::Unit*>(module), pointer, name,
                  {static_cast<const std::byte*>(initial), bytes});
}
// The program ends, or a library of it is unloaded.
void __hipUnregisterFatBinary(void** module) {
  const rt::Turn turn;
  const auto* const unit = reinterpret_cast<const rt::Unit*>(module);
  const auto of_it = [&](const auto& named) { return named.second.unit == unit; };
  std::erase_if(rt::runtime().functions, of_it);
  std::erase_if(rt::runtime().variables, of_it);
  rt::remove_managed(*unit);
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

namespace mla::hip_runtime {

hipError_t refuse_too_many(const char* call, dim3 grid, int threads, int fitting) {
  const auto blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  const auto most =
      static_cast<std::uint64_t>(fitting) * static_cast<std::uint64_t>(runtime().compute_units());
  if (blocks <= most) return hipSuccess;
  return fault(hipErrorCooperativeLaunchTooLarge,
               say(call, ": ", blocks, " blocks of ", threads, " threads; ", most,
                   " fit on the device at once"));
}

}  // namespace mla::hip_runtime

extern "C" {

hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                           std::size_t dynamic_lds, hipStream_t stream) {
  const rt::Turn turn;
  const auto found = rt::runtime().functions.find(kernel);
  if (found == rt::runtime().functions.end()) {
    return rt::fault(hipErrorInvalidDeviceFunction,
                     "a kernel was launched that no code object registered");
  }
  const auto* const code = rt::kernel_of(found->second);
  if (code == nullptr) return rt::last_error();
  std::vector<std::byte> kernarg;
  if (const auto bad =
          rt::arguments_of("hipLaunchKernel", found->second, *code, arguments, nullptr, kernarg))
    return bad;
  return rt::submit(
      stream, rt::KernelWork{found->second, grid, block, std::move(kernarg), dynamic_lds, kernel});
}
hipError_t hipLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                      unsigned dynamic_lds, hipStream_t stream) {
  const rt::Turn turn;
  int fitting = 0;
  const auto threads = static_cast<int>(block.x * block.y * block.z);
  const hipError_t unknown =
      hipOccupancyMaxActiveBlocksPerMultiprocessor(&fitting, kernel, threads, dynamic_lds);
  if (unknown != hipSuccess) return unknown;
  if (const auto bad = rt::refuse_too_many("hipLaunchCooperativeKernel", grid, threads, fitting))
    return bad;
  return hipLaunchKernel(kernel, grid, block, arguments, dynamic_lds, stream);
}

// Attributes say how a GPU schedules; only that of cooperation refuses anything.
hipError_t hipLaunchKernelExC(const hipLaunchConfig_t* config, const void* kernel,
                              void** arguments) {
  const rt::Turn turn;
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr))
    return rt::keep(hipErrorInvalidValue);
  bool cooperative = false;
  for (unsigned k = 0; k < config->numAttrs; ++k) {
    const hipLaunchAttribute& attribute = config->attrs[k];
    if (attribute.id == hipLaunchAttributeCooperative)
      cooperative = attribute.val.cooperative != 0;
    else if (attribute.id != hipLaunchAttributePriority &&
             attribute.id != hipLaunchAttributeAccessPolicyWindow)
      return rt::fault(hipErrorNotSupported,
                       mla::say("hipLaunchKernelExC: attribute ", k, " is ",
                                static_cast<int>(attribute.id), "; expected 1, 2 or 8"));
  }
  if (cooperative)
    return hipLaunchCooperativeKernel(kernel, config->gridDim, config->blockDim, arguments,
                                      static_cast<unsigned>(config->dynamicSmemBytes),
                                      config->stream);
  return hipLaunchKernel(kernel, config->gridDim, config->blockDim, arguments,
                         config->dynamicSmemBytes, config->stream);
}
hipError_t hipExtLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                              std::size_t dynamic_lds, hipStream_t stream, hipEvent_t before,
                              hipEvent_t after, int) {
  const rt::Turn turn;
  if (before != nullptr)
    if (const auto bad = hipEventRecord(before, stream)) return bad;
  if (const auto bad = hipLaunchKernel(kernel, grid, block, arguments, dynamic_lds, stream))
    return bad;
  return after == nullptr ? hipSuccess : hipEventRecord(after, stream);
}

}  // extern "C"

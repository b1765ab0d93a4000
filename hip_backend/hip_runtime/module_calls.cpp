// Modules: code objects that a program loads itself, from a file or from memory, and functions that
// it launches by their handle. A handle is the address of a Module or Function of ours; any other
// pointer is refused.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/bundle.hpp"
#include "hip_backend/hip_runtime/hip/hip_ext.h"
#include "hip_backend/hip_runtime/launch.hpp"
#include "hip_backend/hip_runtime/stream.hpp"

namespace rt = mla::hip_runtime;

namespace mla::hip_runtime {
namespace {

Module* module_of(const char* call, hipModule_t handle) {
  auto& modules = runtime().modules;
  const auto found = std::find_if(modules.begin(), modules.end(), [&](const auto& module) {
    return reinterpret_cast<hipModule_t>(module.get()) == handle;
  });
  if (found != modules.end()) return found->get();
  fault(hipErrorInvalidHandle, say(call, ": this is no module that is loaded"));
  return nullptr;
}

hipFunction_t handle_of(const Function& function) {
  return reinterpret_cast<hipFunction_t>(const_cast<Function*>(&function));
}

hipError_t load(const char* call, hipModule_t* module, std::span<const std::byte> image) {
  if (module == nullptr) return keep(hipErrorInvalidValue);
  auto unit = Unit::of(image);
  if (!unit) return fault(hipErrorInvalidImage, say(call, ": ", unit.error().message));
  auto& modules = runtime().modules;
  modules.push_back(std::make_unique<Module>(Module{std::move(*unit), {}}));
  *module = reinterpret_cast<hipModule_t>(modules.back().get());
  return hipSuccess;
}

}  // namespace

const Function* function_named(const void* stub_or_handle) {
  const auto found = runtime().functions.find(stub_or_handle);
  if (found != runtime().functions.end()) return &found->second;
  for (const auto& [stub, function] : runtime().functions)
    if (&function == stub_or_handle) return &function;
  for (const auto& module : runtime().modules)
    for (const auto& [name, function] : module->functions)
      if (&function == stub_or_handle) return &function;
  return nullptr;
}

const Function* function_of(const char* call, hipFunction_t handle) {
  const Function* const found = function_named(handle);
  // A stub is no handle, though it names a kernel.
  if (found != nullptr && handle_of(*found) == handle) return found;
  fault(hipErrorInvalidHandle, say(call, ": this is no function of a loaded module"));
  return nullptr;
}

}  // namespace mla::hip_runtime

extern "C" {

hipError_t hipModuleLoad(hipModule_t* module, const char* path) {
  const rt::Turn turn;
  if (module == nullptr || path == nullptr) return rt::keep(hipErrorInvalidValue);
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open() || file.bad())
    return rt::fault(hipErrorFileNotFound, mla::say("hipModuleLoad: cannot read '", path, "'"));
  const auto image = rt::image_in(std::as_bytes(std::span(text)), rt::runtime().arch());
  if (!image)
    return rt::fault(hipErrorInvalidImage,
                     mla::say("hipModuleLoad: '", path, "': ", image.error().message));
  return rt::load("hipModuleLoad", module, *image);
}
// The image says how long it is.
hipError_t hipModuleLoadData(hipModule_t* module, const void* data) {
  const rt::Turn turn;
  if (module == nullptr || data == nullptr) return rt::keep(hipErrorInvalidValue);
  const auto image = rt::image_at(static_cast<const std::byte*>(data), rt::runtime().arch());
  if (!image) return rt::fault(hipErrorInvalidImage, "hipModuleLoadData: " + image.error().message);
  return rt::load("hipModuleLoadData", module, *image);
}
hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* data, unsigned, hipJitOption*,
                               void**) {
  return hipModuleLoadData(module, data);
}
hipError_t hipModuleUnload(hipModule_t handle) {
  const rt::Turn turn;
  const rt::Module* const module = rt::module_of("hipModuleUnload", handle);
  if (module == nullptr) return rt::last_error();
  std::erase_if(rt::runtime().modules, [&](const auto& m) { return m.get() == module; });
  return hipSuccess;
}
hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t handle, const char* name) {
  const rt::Turn turn;
  if (function == nullptr || name == nullptr) return rt::keep(hipErrorInvalidValue);
  rt::Module* const module = rt::module_of("hipModuleGetFunction", handle);
  if (module == nullptr) return rt::last_error();
  if (const auto code = module->unit.code_of(name); !code)
    return rt::fault(hipErrorNotFound, mla::say("hipModuleGetFunction: the module has no kernel '",
                                                name, "': ", code.error().message));
  const rt::Function wanted{&module->unit, name};
  *function = rt::handle_of(module->functions.try_emplace(name, wanted).first->second);
  return hipSuccess;
}
hipError_t hipModuleGetGlobal(hipDeviceptr_t* address, std::size_t* bytes, hipModule_t handle,
                              const char* name) {
  const rt::Turn turn;
  if (name == nullptr) return rt::keep(hipErrorInvalidValue);
  const rt::Module* const module = rt::module_of("hipModuleGetGlobal", handle);
  if (module == nullptr) return rt::last_error();
  const auto variable = module->unit.variable(name);
  if (variable.empty())
    return rt::fault(hipErrorNotFound,
                     mla::say("hipModuleGetGlobal: the module has no variable '", name, "'"));
  if (address != nullptr) *address = variable.data();
  if (bytes != nullptr) *bytes = variable.size();
  return hipSuccess;
}
hipError_t hipGetFuncBySymbol(hipFunction_t* function, const void* symbol) {
  const rt::Turn turn;
  if (function == nullptr) return rt::keep(hipErrorInvalidValue);
  const auto found = rt::runtime().functions.find(symbol);
  if (found == rt::runtime().functions.end())
    return rt::fault(hipErrorInvalidDeviceFunction,
                     "hipGetFuncBySymbol: no code object registered this kernel");
  *function = rt::handle_of(found->second);
  return hipSuccess;
}
// The grid is in blocks. Arguments as for hipLaunchKernel(), or as one block in `extra`.
hipError_t hipModuleLaunchKernel(hipFunction_t handle, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned dynamic_lds, hipStream_t stream,
                                 void** arguments, void** extra) {
  const rt::Turn turn;
  const rt::Function* const function = rt::function_of("hipModuleLaunchKernel", handle);
  if (function == nullptr) return rt::last_error();
  const auto* const kernel = rt::kernel_of(*function);
  if (kernel == nullptr) return rt::last_error();
  std::vector<std::byte> kernarg;
  if (const auto bad =
          rt::arguments_of("hipModuleLaunchKernel", *function, *kernel, arguments, extra, kernarg))
    return bad;
  return rt::submit(stream, rt::KernelWork{*function,
                                           {grid_x, grid_y, grid_z},
                                           {block_x, block_y, block_z},
                                           std::move(kernarg),
                                           dynamic_lds,
                                           handle});
}

hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t handle, unsigned grid_x, unsigned grid_y,
                                            unsigned grid_z, unsigned block_x, unsigned block_y,
                                            unsigned block_z, unsigned dynamic_lds,
                                            hipStream_t stream, void** arguments) {
  const rt::Turn turn;
  int fitting = 0;
  const auto threads = static_cast<int>(block_x * block_y * block_z);
  if (const auto bad = hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&fitting, handle, threads,
                                                                          dynamic_lds))
    return bad;
  if (const auto bad = rt::refuse_too_many("hipModuleLaunchCooperativeKernel",
                                           {grid_x, grid_y, grid_z}, threads, fitting))
    return bad;
  return hipModuleLaunchKernel(handle, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                               dynamic_lds, stream, arguments, nullptr);
}

// hip_ext.h: a grid in threads, between two events.
hipError_t hipExtModuleLaunchKernel(hipFunction_t function, std::uint32_t threads_x,
                                    std::uint32_t threads_y, std::uint32_t threads_z,
                                    std::uint32_t block_x, std::uint32_t block_y,
                                    std::uint32_t block_z, std::size_t dynamic_lds,
                                    hipStream_t stream, void** arguments, void** extra,
                                    hipEvent_t before, hipEvent_t after, std::uint32_t) {
  const rt::Turn turn;
  const auto divides = [](std::uint32_t block, std::uint32_t threads) {
    return block != 0 && threads % block == 0;
  };
  if (!divides(block_x, threads_x) || !divides(block_y, threads_y) || !divides(block_z, threads_z))
    return rt::fault(hipErrorInvalidConfiguration,
                     mla::say("hipExtModuleLaunchKernel: a grid of ", threads_x, " x ", threads_y,
                              " x ", threads_z, " threads is no multiple of blocks of ", block_x,
                              " x ", block_y, " x ", block_z));
  if (before != nullptr)
    if (const auto bad = hipEventRecord(before, stream)) return bad;
  if (const auto bad = hipModuleLaunchKernel(
          function, threads_x / block_x, threads_y / block_y, threads_z / block_z, block_x, block_y,
          block_z, static_cast<unsigned>(dynamic_lds), stream, arguments, extra))
    return bad;
  return after == nullptr ? hipSuccess : hipEventRecord(after, stream);
}
hipError_t hipHccModuleLaunchKernel(hipFunction_t function, std::uint32_t threads_x,
                                    std::uint32_t threads_y, std::uint32_t threads_z,
                                    std::uint32_t block_x, std::uint32_t block_y,
                                    std::uint32_t block_z, std::size_t dynamic_lds,
                                    hipStream_t stream, void** arguments, void** extra,
                                    hipEvent_t before, hipEvent_t after) {
  return hipExtModuleLaunchKernel(function, threads_x, threads_y, threads_z, block_x, block_y,
                                  block_z, dynamic_lds, stream, arguments, extra, before, after, 0);
}

}  // extern "C"

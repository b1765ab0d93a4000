#include "hip_backend/device/runtime_api.hpp"

#include <dlfcn.h>

#include <initializer_list>
#include <utility>

#include "core/say.hpp"

namespace mla::hip {
namespace {

Error missing(const std::string& what) {
  return {ErrorCode::fault, what};
}

// A library that stays loaded: runtimes do not survive being unloaded.
struct Library {
  void* handle = nullptr;
  std::string name;
};

Result<Library> open_first(std::initializer_list<const char*> names, const std::string& what) {
  std::string tried;
  for (const char* name : names) {
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return Library{handle, name};
    tried += say(tried.empty() ? "" : ", ", name);
  }
  return missing("no " + what + ": none of " + tried + " can be loaded");
}

class Symbols {
 public:
  explicit Symbols(Library library) : library_(std::move(library)) {}

  template <class Function>
  void find(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(dlsym(library_.handle, symbol));
    if (function == nullptr && lacking_.empty()) lacking_ = symbol;
  }
  template <class Function>
  void find_either(Function& function, const char* symbol, const char* older) {
    function = reinterpret_cast<Function>(dlsym(library_.handle, symbol));
    if (function == nullptr) find(function, older);
  }
  [[nodiscard]] Result<RuntimeApi> seal(RuntimeApi api) const {
    if (!lacking_.empty()) return missing(library_.name + " has no symbol " + lacking_);
    api.library = library_.name;
    return api;
  }

 private:
  Library library_;
  std::string lacking_;
};

}  // namespace

Result<RuntimeApi> load_amd_runtime() {
  auto library =
      open_first({"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"},
                 "HIP runtime");
  if (!library) return library.error();
  Symbols s(std::move(*library));
  RuntimeApi api;
  api.platform = Platform::amd;
  // hipDeviceAttributeMultiprocessorCount, hipDeviceAttributeMaxSharedMemoryPerBlock and
  // HIP_LAUNCH_PARAM_END: the same numbers in HIP 5, 6 and 7.
  api.numbers = {.attribute_compute_units = 63,
                 .attribute_lds_bytes = 74,
                 .arguments_end = 3,
                 .lds_attribute_of_kernel = -1};
  s.find(api.init, "hipInit");
  s.find(api.driver_version, "hipRuntimeGetVersion");
  s.find(api.device_count, "hipGetDeviceCount");
  s.find(api.device_name, "hipDeviceGetName");
  s.find(api.device_memory, "hipDeviceTotalMem");
  s.find(api.device_attribute, "hipDeviceGetAttribute");
  s.find_either(api.device_properties, "hipGetDevicePropertiesR0600", "hipGetDeviceProperties");
  s.find(api.set_device, "hipSetDevice");
  s.find(api.reset_device, "hipDeviceReset");
  s.find(api.device_synchronize, "hipDeviceSynchronize");
  s.find(api.error_text, "hipGetErrorString");
  s.find(api.allocate, "hipMalloc");
  s.find(api.release, "hipFree");
  s.find(api.copy_in, "hipMemcpyHtoD");
  s.find(api.copy_out, "hipMemcpyDtoH");
  s.find(api.copy_on, "hipMemcpyDtoDAsync");
  s.find(api.fill, "hipMemsetD32");
  s.find(api.module_load, "hipModuleLoadData");
  s.find(api.module_function, "hipModuleGetFunction");
  s.find(api.launch, "hipModuleLaunchKernel");
  s.find(api.stream_create, "hipStreamCreateWithFlags");
  s.find(api.stream_destroy, "hipStreamDestroy");
  s.find(api.stream_synchronize, "hipStreamSynchronize");
  s.find(api.event_create, "hipEventCreateWithFlags");
  s.find(api.event_destroy, "hipEventDestroy");
  s.find(api.event_record, "hipEventRecord");
  s.find(api.event_synchronize, "hipEventSynchronize");
  s.find(api.event_elapsed, "hipEventElapsedTime");
  s.find(api.capture_begin, "hipStreamBeginCapture");
  s.find(api.capture_end, "hipStreamEndCapture");
  s.find(api.graph_instantiate, "hipGraphInstantiateWithFlags");
  s.find(api.graph_launch, "hipGraphLaunch");
  s.find(api.graph_destroy, "hipGraphDestroy");
  s.find(api.graph_exec_destroy, "hipGraphExecDestroy");
  return s.seal(std::move(api));
}

Result<RuntimeApi> load_nvidia_runtime() {
  auto library = open_first({"libcuda.so.1"}, "CUDA driver");
  if (!library) return library.error();
  Symbols s(std::move(*library));
  RuntimeApi api;
  api.platform = Platform::nvidia;
  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, ..._MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
  // CU_LAUNCH_PARAM_END and CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES.
  api.numbers = {.attribute_compute_units = 16,
                 .attribute_lds_bytes = 97,
                 .arguments_end = 0,
                 .lds_attribute_of_kernel = 8};
  s.find(api.init, "cuInit");
  s.find(api.driver_version, "cuDriverGetVersion");
  s.find(api.device_count, "cuDeviceGetCount");
  s.find(api.device_name, "cuDeviceGetName");
  s.find(api.device_memory, "cuDeviceTotalMem_v2");
  s.find(api.device_attribute, "cuDeviceGetAttribute");
  s.find(api.make_context, "cuCtxCreate_v2");
  s.find(api.set_context, "cuCtxSetCurrent");
  s.find(api.destroy_context, "cuCtxDestroy_v2");
  s.find(api.device_synchronize, "cuCtxSynchronize");
  s.find(api.error_text_of, "cuGetErrorString");
  s.find(api.allocate, "cuMemAlloc_v2");
  s.find(api.release, "cuMemFree_v2");
  s.find(api.copy_in, "cuMemcpyHtoD_v2");
  s.find(api.copy_out, "cuMemcpyDtoH_v2");
  s.find(api.copy_on, "cuMemcpyDtoDAsync_v2");
  s.find(api.fill, "cuMemsetD32_v2");
  s.find(api.module_load, "cuModuleLoadData");
  s.find(api.module_function, "cuModuleGetFunction");
  s.find(api.function_attribute, "cuFuncSetAttribute");
  s.find(api.launch, "cuLaunchKernel");
  s.find(api.stream_create, "cuStreamCreate");
  s.find(api.stream_destroy, "cuStreamDestroy_v2");
  s.find(api.stream_synchronize, "cuStreamSynchronize");
  s.find(api.event_create, "cuEventCreate");
  s.find(api.event_destroy, "cuEventDestroy_v2");
  s.find(api.event_record, "cuEventRecord");
  s.find(api.event_synchronize, "cuEventSynchronize");
  s.find(api.event_elapsed, "cuEventElapsedTime");
  s.find(api.capture_begin, "cuStreamBeginCapture_v2");
  s.find(api.capture_end, "cuStreamEndCapture");
  s.find(api.graph_instantiate, "cuGraphInstantiateWithFlags");
  s.find(api.graph_launch, "cuGraphLaunch");
  s.find(api.graph_destroy, "cuGraphDestroy");
  s.find(api.graph_exec_destroy, "cuGraphExecDestroy");
  return s.seal(std::move(api));
}

}  // namespace mla::hip

// What a program asks of its kernels.
#include "core/say.hpp"
#include "hip_backend/hip_runtime/launch.hpp"

namespace rt = mla::hip_runtime;

namespace mla::hip_runtime {
namespace {

hipFuncAttributes attributes_of(const gfx::Kernel& kernel) {
  hipDeviceProp_t device;
  (void)hipGetDeviceProperties(&device, 0);
  hipFuncAttributes out = {};
  out.binaryVersion = out.ptxVersion = 10 * device.major + device.minor;
  out.localSizeBytes = kernel.private_segment_size;
  out.sharedSizeBytes = kernel.group_segment_size;
  out.numRegs = static_cast<int>(kernel.stated_vgprs != 0 ? kernel.stated_vgprs : kernel.vgprs);
  out.maxThreadsPerBlock =
      kernel.max_workgroup_size == 0 ? 1024 : static_cast<int>(kernel.max_workgroup_size);
  out.maxDynamicSharedSizeBytes =
      static_cast<int>(device.sharedMemPerBlock - kernel.group_segment_size);
  return out;
}

}  // namespace
}  // namespace mla::hip_runtime

extern "C" {

hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* stub) {
  const rt::Turn turn;
  if (attributes == nullptr) return rt::keep(hipErrorInvalidValue);
  const auto* const kernel = rt::registered_kernel("hipFuncGetAttributes", stub);
  if (kernel == nullptr) return rt::last_error();
  return *attributes = rt::attributes_of(*kernel), hipSuccess;
}
hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute attribute, hipFunction_t handle) {
  const rt::Turn turn;
  if (value == nullptr) return rt::keep(hipErrorInvalidValue);
  const rt::Function* const function = rt::function_of("hipFuncGetAttribute", handle);
  const auto* const kernel = function == nullptr ? nullptr : rt::kernel_of(*function);
  if (kernel == nullptr) return rt::last_error();
  const hipFuncAttributes all = rt::attributes_of(*kernel);
  switch (attribute) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return *value = all.maxThreadsPerBlock, hipSuccess;
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return *value = static_cast<int>(all.sharedSizeBytes), hipSuccess;
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return *value = static_cast<int>(all.localSizeBytes), hipSuccess;
    case HIP_FUNC_ATTRIBUTE_NUM_REGS:
      return *value = all.numRegs, hipSuccess;
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return *value = all.maxDynamicSharedSizeBytes, hipSuccess;
    default:
      return rt::fault(hipErrorNotSupported,
                       mla::say("hipFuncGetAttribute: attribute ", static_cast<int>(attribute),
                                " has no answer on the emulated device"));
  }
}
// All LDS of the device can be asked for at a launch: what is set here is only held to its limit.
hipError_t hipFuncSetAttribute(const void* stub, hipFuncAttribute attribute, int value) {
  const rt::Turn turn;
  const auto* const kernel = rt::registered_kernel("hipFuncSetAttribute", stub);
  if (kernel == nullptr) return rt::last_error();
  const int most = rt::attributes_of(*kernel).maxDynamicSharedSizeBytes;
  if (attribute == hipFuncAttributeMaxDynamicSharedMemorySize && (value < 0 || value > most))
    return rt::fault(hipErrorInvalidValue,
                     mla::say("hipFuncSetAttribute: ", value, " bytes of dynamic LDS for ",
                              kernel->name, "; 0 to ", most, " fit"));
  return hipSuccess;
}
hipError_t hipFuncSetCacheConfig(const void* stub, hipFuncCache_t) {
  const rt::Turn turn;
  return rt::registered_kernel("hipFuncSetCacheConfig", stub) == nullptr ? rt::last_error()
                                                                         : hipSuccess;
}

}  // extern "C"

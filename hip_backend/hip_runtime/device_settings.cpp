// What a program sets of the device, or asks it to do beside work: limits, configurations,
// profiles.
#include "core/say.hpp"
#include "hip_backend/hip_runtime/stream.hpp"

namespace rt = mla::hip_runtime;

namespace mla::hip_runtime {
namespace {

hipError_t no_heap(std::size_t bytes) {
  return fault(hipErrorNotSupported, say("hipDeviceSetLimit: a heap of ", bytes,
                                         " bytes; kernels have no malloc() here, and no heap"));
}

}  // namespace
}  // namespace mla::hip_runtime

extern "C" {

hipError_t hipDeviceGetLimit(std::size_t* value, hipLimit_t limit) {
  const rt::Turn turn;
  if (value == nullptr) return rt::keep(hipErrorInvalidValue);
  if (limit == hipLimitMallocHeapSize) return *value = 0, hipSuccess;
  if (limit != hipLimitStackSize && limit != hipLimitPrintfFifoSize)
    return rt::keep(hipErrorUnsupportedLimit);
  const auto& limits = rt::runtime().limits;
  return *value = limit == hipLimitStackSize ? limits.stack : limits.print, hipSuccess;
}
hipError_t hipDeviceSetLimit(hipLimit_t limit, std::size_t value) {
  const rt::Turn turn;
  auto& limits = rt::runtime().limits;
  if (limit == hipLimitMallocHeapSize) return value == 0 ? hipSuccess : rt::no_heap(value);
  if (limit == hipLimitPrintfFifoSize) return limits.print = value, hipSuccess;
  if (limit != hipLimitStackSize) return rt::keep(hipErrorUnsupportedLimit);
  if (value > rt::most_stack) return rt::keep(hipErrorInvalidValue);
  return limits.stack = value, hipSuccess;
}
hipError_t hipDeviceGetCacheConfig(hipFuncCache_t* config) {
  if (config == nullptr) return rt::keep(hipErrorInvalidValue);
  return *config = hipFuncCachePreferNone, hipSuccess;
}
hipError_t hipDeviceSetCacheConfig(hipFuncCache_t config) {
  const bool known = config >= hipFuncCachePreferNone && config <= hipFuncCachePreferEqual;
  return known ? hipSuccess : rt::keep(hipErrorInvalidValue);
}
hipError_t hipDeviceGetSharedMemConfig(hipSharedMemConfig* config) {
  if (config == nullptr) return rt::keep(hipErrorInvalidValue);
  return *config = hipSharedMemBankSizeFourByte, hipSuccess;
}
hipError_t hipDeviceSetSharedMemConfig(hipSharedMemConfig config) {
  const bool known =
      config >= hipSharedMemBankSizeDefault && config <= hipSharedMemBankSizeEightByte;
  return known ? hipSuccess : rt::keep(hipErrorInvalidValue);
}
hipError_t hipDeviceGetP2PAttribute(int* value, hipDeviceP2PAttr, int device, int peer) {
  const rt::Turn turn;
  if (value == nullptr) return rt::keep(hipErrorInvalidValue);
  return rt::fault(hipErrorInvalidDevice,
                   mla::say("hipDeviceGetP2PAttribute: devices ", device, " and ", peer,
                            "; there is one device, and no peer"));
}
hipError_t hipProfilerStart() {
  const rt::Turn turn;
  return rt::fault(hipErrorNotSupported, "hipProfilerStart: not supported, as with ROCm");
}
hipError_t hipProfilerStop() {
  const rt::Turn turn;
  return rt::fault(hipErrorNotSupported, "hipProfilerStop: not supported, as with ROCm");
}

}  // extern "C"

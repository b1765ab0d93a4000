// Errors, the device and its properties, streams and events. Everything is synchronous.
#include <chrono>
#include <cstring>
#include <utility>

#include "hip_backend/hip_runtime/state.hpp"

namespace rt = mla::hip_runtime;

// The moment at which an event was recorded.
struct ihipEvent_t {
  std::chrono::steady_clock::time_point at{};
  bool recorded = false;
};
struct ihipStream_t {};

namespace mla::hip_runtime {
namespace {

struct ErrorText {
  hipError_t error;
  const char* name;
  const char* text;
};
constexpr ErrorText kErrors[] = {
    {hipSuccess, "hipSuccess", "no error"},
    {hipErrorInvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {hipErrorOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {hipErrorInvalidDeviceFunction, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {hipErrorInvalidSymbol, "hipErrorInvalidSymbol", "invalid device symbol"},
    {hipErrorInvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    {hipErrorInvalidResourceHandle, "hipErrorInvalidResourceHandle", "invalid resource handle"},
    {hipErrorLaunchFailure, "hipErrorLaunchFailure", "a kernel did what no kernel may do"},
    {hipErrorNotSupported, "hipErrorNotSupported", "not supported on the emulated device"},
};
const ErrorText& text_of(hipError_t error) {
  static constexpr ErrorText kUnknown = {hipSuccess, "hipErrorUnknown", "unknown error"};
  for (const ErrorText& known : kErrors)
    if (known.error == error) return known;
  return kUnknown;
}

constexpr std::size_t kLds942 = 64U << 10U, kLds950 = 160U << 10U;

}  // namespace
}  // namespace mla::hip_runtime

extern "C" {

const char* hipGetErrorName(hipError_t error) {
  return rt::text_of(error).name;
}
const char* hipGetErrorString(hipError_t error) {
  return rt::text_of(error).text;
}
hipError_t hipGetLastError() {
  return std::exchange(rt::runtime().last, hipSuccess);
}
hipError_t hipPeekAtLastError() {
  return rt::runtime().last;
}

hipError_t hipGetDevice(int* device) {
  return *device = 0, hipSuccess;
}
hipError_t hipSetDevice(int device) {
  return device == 0 ? hipSuccess : rt::keep(hipErrorInvalidDevice);
}
hipError_t hipGetDeviceCount(int* count) {
  return *count = 1, hipSuccess;
}
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  if (device != 0) return rt::keep(hipErrorInvalidDevice);
  *properties = {};
  const bool gfx950 = rt::runtime().is_gfx950();
  std::strcpy(properties->name, gfx950 ? "emulated MI355X" : "emulated MI300X");
  std::strcpy(properties->gcnArchName,
              gfx950 ? "gfx950:sramecc+:xnack-" : "gfx942:sramecc+:xnack-");
  properties->totalGlobalMem = rt::most_memory;
  properties->sharedMemPerBlock = properties->maxSharedMemoryPerMultiProcessor =
      gfx950 ? rt::kLds950 : rt::kLds942;
  properties->multiProcessorCount = rt::runtime().device.units;
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
      return rt::keep(hipErrorNotSupported);
  }
}
hipError_t hipDeviceSynchronize() {
  return hipSuccess;
}

hipError_t hipStreamCreate(hipStream_t* stream) {
  return *stream = new ihipStream_t, hipSuccess;
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  if (stream == nullptr) return rt::keep(hipErrorInvalidResourceHandle);
  return delete stream, hipSuccess;
}
hipError_t hipStreamSynchronize(hipStream_t) {
  return hipSuccess;
}
hipError_t hipStreamIsCapturing(hipStream_t, hipStreamCaptureStatus* status) {
  return *status = hipStreamCaptureStatusNone, hipSuccess;
}

hipError_t hipEventCreate(hipEvent_t* event) {
  return *event = new ihipEvent_t, hipSuccess;
}
hipError_t hipEventDestroy(hipEvent_t event) {
  if (event == nullptr) return rt::keep(hipErrorInvalidResourceHandle);
  return delete event, hipSuccess;
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t) {
  if (event == nullptr) return rt::keep(hipErrorInvalidResourceHandle);
  event->at = std::chrono::steady_clock::now();
  event->recorded = true;
  return hipSuccess;
}
hipError_t hipEventSynchronize(hipEvent_t event) {
  return event == nullptr ? rt::keep(hipErrorInvalidResourceHandle) : hipSuccess;
}
// Time of the emulation, not of a GPU.
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t from, hipEvent_t to) {
  if (from == nullptr || to == nullptr || !from->recorded || !to->recorded)
    return rt::keep(hipErrorInvalidResourceHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(to->at - from->at).count();
  return hipSuccess;
}

}  // extern "C"

// The device and its properties.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/order.hpp"
#include "hip_backend/hip_runtime/stream.hpp"

namespace rt = mla::hip_runtime;

namespace mla::hip_runtime {
namespace {

constexpr std::size_t kLds942 = 64U << 10U, kLds950 = 160U << 10U;

// No value: hipDeviceGetAttribute() has no answer.
std::optional<int> attribute_of(const hipDeviceProp_t& p, hipDeviceAttribute_t attribute) {
  switch (attribute) {
    case hipDeviceAttributeWarpSize:
      return p.warpSize;
    case hipDeviceAttributeMultiprocessorCount:
      return p.multiProcessorCount;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
      return static_cast<int>(p.sharedMemPerBlock);
    case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor:
      return static_cast<int>(p.maxSharedMemoryPerMultiProcessor);
    case hipDeviceAttributeCanMapHostMemory:
      return p.canMapHostMemory;
    case hipDeviceAttributeClockRate:
      return p.clockRate;
    case hipDeviceAttributeComputeMode:
      return p.computeMode;
    case hipDeviceAttributeCooperativeLaunch:
      return p.cooperativeLaunch;
    case hipDeviceAttributeCooperativeMultiDeviceLaunch:
      return p.cooperativeMultiDeviceLaunch;
    case hipDeviceAttributeIntegrated:
      return p.integrated;
    case hipDeviceAttributeL2CacheSize:
      return p.l2CacheSize;
    case hipDeviceAttributeComputeCapabilityMajor:
      return p.major;
    case hipDeviceAttributeComputeCapabilityMinor:
      return p.minor;
    case hipDeviceAttributeManagedMemory:
      return p.managedMemory;
    case hipDeviceAttributeMaxBlockDimX:
      return p.maxThreadsDim[0];
    case hipDeviceAttributeMaxBlockDimY:
      return p.maxThreadsDim[1];
    case hipDeviceAttributeMaxBlockDimZ:
      return p.maxThreadsDim[2];
    case hipDeviceAttributeMaxGridDimX:
      return p.maxGridSize[0];
    case hipDeviceAttributeMaxGridDimY:
      return p.maxGridSize[1];
    case hipDeviceAttributeMaxGridDimZ:
      return p.maxGridSize[2];
    case hipDeviceAttributeMaxThreadsPerBlock:
      return p.maxThreadsPerBlock;
    case hipDeviceAttributeMaxThreadsPerMultiProcessor:
      return p.maxThreadsPerMultiProcessor;
    case hipDeviceAttributeMemoryBusWidth:
      return p.memoryBusWidth;
    case hipDeviceAttributeMemoryClockRate:
      return p.memoryClockRate;
    case hipDeviceAttributeMaxRegistersPerBlock:
      return p.regsPerBlock;
    case hipDeviceAttributeTotalConstantMemory:
      return static_cast<int>(std::min<std::size_t>(p.totalConstMem, 2147483647));
    case hipDeviceAttributeImageSupport:
      return 0;
    case hipDeviceAttributePciChipId:
      break;
  }
  return std::nullopt;
}

}  // namespace
}  // namespace mla::hip_runtime

extern "C" {

hipError_t hipGetDevice(int* device) {
  if (device == nullptr) return rt::keep(hipErrorInvalidValue);
  return *device = 0, hipSuccess;
}
hipError_t hipSetDevice(int device) {
  return device == 0 ? hipSuccess : rt::keep(hipErrorInvalidDevice);
}
hipError_t hipGetDeviceCount(int* count) {
  if (count == nullptr) return rt::keep(hipErrorInvalidValue);
  return *count = 1, hipSuccess;
}
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  const rt::Turn turn;
  if (properties == nullptr) return rt::keep(hipErrorInvalidValue);
  if (device != 0) return rt::keep(hipErrorInvalidDevice);
  *properties = {};
  const bool gfx950 = rt::runtime().is_gfx950();
  std::strcpy(properties->name, gfx950 ? "emulated MI355X" : "emulated MI300X");
  std::strcpy(properties->gcnArchName,
              gfx950 ? "gfx950:sramecc+:xnack-" : "gfx942:sramecc+:xnack-");
  properties->totalGlobalMem = rt::most_memory;
  properties->totalConstMem = std::size_t{1} << 31U;
  properties->sharedMemPerBlock = properties->maxSharedMemoryPerMultiProcessor =
      properties->sharedMemPerMultiprocessor = gfx950 ? rt::kLds950 : rt::kLds942;
  properties->multiProcessorCount = rt::runtime().compute_units();
  properties->warpSize = 64;
  properties->regsPerBlock = 65536;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsPerMultiProcessor = 2048;
  std::fill_n(properties->maxThreadsDim, 3, 1024);
  const int most_blocks[] = {2147483647, 65536, 65536};
  std::copy_n(most_blocks, 3, properties->maxGridSize);
  // What MI300X and MI355X have; nothing here runs at a clock.
  properties->clockRate = gfx950 ? 2'400'000 : 2'100'000;
  properties->memoryClockRate = gfx950 ? 2'000'000 : 1'300'000;
  properties->memoryBusWidth = 8192;
  properties->l2CacheSize = 4 << 20;
  properties->canMapHostMemory = properties->managedMemory = 1;
  properties->cooperativeLaunch = 1;  // waiting for the whole grid does not compile
  properties->major = 9;
  properties->minor = gfx950 ? 5 : 4;
  return hipSuccess;
}
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  const rt::Turn turn;
  if (value == nullptr) return rt::keep(hipErrorInvalidValue);
  hipDeviceProp_t properties;
  if (const auto bad = hipGetDeviceProperties(&properties, device)) return bad;
  const auto found = rt::attribute_of(properties, attribute);
  if (found) return *value = *found, hipSuccess;
  return rt::fault(
      hipErrorNotSupported,
      mla::say("hipDeviceGetAttribute: the emulated device has no answer to attribute ",
               static_cast<int>(attribute)));
}
hipError_t hipInit(unsigned flags) {
  return flags == 0 ? hipSuccess : rt::keep(hipErrorInvalidValue);
}
hipError_t hipRuntimeGetVersion(int* version) {
  if (version == nullptr) return rt::keep(hipErrorInvalidValue);
  return *version = HIP_VERSION, hipSuccess;
}
hipError_t hipDriverGetVersion(int* version) {
  if (version == nullptr) return rt::keep(hipErrorInvalidValue);
  return *version = HIP_VERSION, hipSuccess;
}
// How a host waits; here it never does.
hipError_t hipSetDeviceFlags(unsigned flags) {
  const rt::Turn turn;
  if ((flags & ~unsigned{hipDeviceScheduleMask | hipDeviceMapHost}) != 0)
    return rt::keep(hipErrorInvalidValue);
  return rt::runtime().flags = flags, hipSuccess;
}
hipError_t hipGetDeviceFlags(unsigned* flags) {
  const rt::Turn turn;
  if (flags == nullptr) return rt::keep(hipErrorInvalidValue);
  return *flags = rt::runtime().flags, hipSuccess;
}
// There is one device, and none is a peer of its own.
hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  if (can == nullptr) return rt::keep(hipErrorInvalidValue);
  if (device != 0 || peer != 0) return rt::keep(hipErrorInvalidDevice);
  return *can = 0, hipSuccess;
}
hipError_t hipDeviceEnablePeerAccess(int, unsigned) {
  const rt::Turn turn;
  return rt::fault(hipErrorInvalidDevice,
                   "hipDeviceEnablePeerAccess: there is one device, and no peer");
}
hipError_t hipDeviceDisablePeerAccess(int) {
  const rt::Turn turn;
  return rt::fault(hipErrorInvalidDevice,
                   "hipDeviceDisablePeerAccess: there is one device, and no peer");
}
hipError_t hipDeviceSynchronize() {
  const rt::Turn turn;
  rt::order().host_waits_for_all();
  return rt::waited(rt::refuse_while_capturing("hipDeviceSynchronize"));
}
hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  if (device == nullptr) return rt::keep(hipErrorInvalidValue);
  if (ordinal != 0) return rt::keep(hipErrorInvalidDevice);
  return *device = 0, hipSuccess;
}
hipError_t hipDeviceGetName(char* name, int bytes, hipDevice_t device) {
  if (name == nullptr || bytes < 1) return rt::keep(hipErrorInvalidValue);
  hipDeviceProp_t properties;
  if (const auto bad = hipGetDeviceProperties(&properties, device)) return bad;
  std::snprintf(name, static_cast<std::size_t>(bytes), "%s", properties.name);
  return hipSuccess;
}
hipError_t hipDeviceTotalMem(std::size_t* bytes, hipDevice_t device) {
  if (bytes == nullptr) return rt::keep(hipErrorInvalidValue);
  if (device != 0) return rt::keep(hipErrorInvalidDevice);
  return *bytes = rt::most_memory, hipSuccess;
}
hipError_t hipDeviceComputeCapability(int* major, int* minor, hipDevice_t device) {
  if (major == nullptr || minor == nullptr) return rt::keep(hipErrorInvalidValue);
  hipDeviceProp_t properties;
  if (const auto bad = hipGetDeviceProperties(&properties, device)) return bad;
  return *major = properties.major, *minor = properties.minor, hipSuccess;
}
// It stands in no slot; programs only want to tell devices apart.
hipError_t hipDeviceGetPCIBusId(char* id, int bytes, int device) {
  if (id == nullptr || bytes < 1) return rt::keep(hipErrorInvalidValue);
  if (device != 0) return rt::keep(hipErrorInvalidDevice);
  std::snprintf(id, static_cast<std::size_t>(bytes), "0000:00:00.0");
  return hipSuccess;
}

hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t*, void*) {
  const rt::Turn turn;
  return rt::fault(hipErrorNotSupported, "hipIpcGetMemHandle: one process has the device");
}
hipError_t hipIpcOpenMemHandle(void**, hipIpcMemHandle_t, unsigned) {
  const rt::Turn turn;
  return rt::fault(hipErrorNotSupported, "hipIpcOpenMemHandle: one process has the device");
}
hipError_t hipIpcCloseMemHandle(void*) {
  const rt::Turn turn;
  return rt::fault(hipErrorNotSupported, "hipIpcCloseMemHandle: one process has the device");
}

}  // extern "C"

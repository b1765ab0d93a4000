// The device: which there is, how a host waits for it, and what it has no other for.
#include <cstdio>

#include "hip_backend/hip_runtime/order.hpp"
#include "hip_backend/hip_runtime/stream.hpp"

namespace rt = mla::hip_runtime;

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

hipError_t hipIpcGetEventHandle(hipIpcEventHandle_t*, hipEvent_t) {
  const rt::Turn turn;
  return rt::fault(hipErrorNotSupported, "hipIpcGetEventHandle: one process has the device");
}
hipError_t hipIpcOpenEventHandle(hipEvent_t*, hipIpcEventHandle_t) {
  const rt::Turn turn;
  return rt::fault(hipErrorNotSupported, "hipIpcOpenEventHandle: one process has the device");
}

}  // extern "C"

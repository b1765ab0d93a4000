// The device: its errors, its properties, and what can be set of it. Included by hip_runtime.h.
#pragma once

#include "runtime_types.h"

#pragma GCC visibility push(default)
extern "C" {
const char* hipGetErrorName(hipError_t error);
const char* hipGetErrorString(hipError_t error);
hipError_t hipGetLastError();
hipError_t hipPeekAtLastError();
hipError_t hipGetDevice(int* device);
hipError_t hipSetDevice(int device);
hipError_t hipGetDeviceCount(int* count);
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device);
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device);
hipError_t hipDeviceSynchronize();
hipError_t hipDeviceGet(hipDevice_t* device, int ordinal);
hipError_t hipDeviceGetName(char* name, int bytes, hipDevice_t device);
hipError_t hipDeviceTotalMem(std::size_t* bytes, hipDevice_t device);
hipError_t hipDeviceComputeCapability(int* major, int* minor, hipDevice_t device);
hipError_t hipDeviceGetPCIBusId(char* id, int bytes, int device);
hipError_t hipInit(unsigned flags);
hipError_t hipRuntimeGetVersion(int* version);
hipError_t hipDriverGetVersion(int* version);
hipError_t hipSetDeviceFlags(unsigned flags);
hipError_t hipGetDeviceFlags(unsigned* flags);
hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer);
hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags);
hipError_t hipDeviceDisablePeerAccess(int peer);
hipError_t hipDeviceReset();
hipError_t hipDrvGetErrorName(hipError_t error, const char** name);
hipError_t hipDrvGetErrorString(hipError_t error, const char** text);
hipError_t hipExtGetLastError();
hipError_t hipChooseDevice(int* device, const hipDeviceProp_t* wanted);
hipError_t hipDeviceGetByPCIBusId(int* device, const char* id);
hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device);
hipError_t hipDeviceGetP2PAttribute(int* value, hipDeviceP2PAttr attribute, int device, int peer);
// Of a thread's stack, of printf and of a heap, in bytes. The first two have what they need, and
// what is set is only given back; there is no heap, whose size is 0.
hipError_t hipDeviceGetLimit(std::size_t* value, hipLimit_t limit);
hipError_t hipDeviceSetLimit(hipLimit_t limit, std::size_t value);
// gfx942 and gfx950 have no such choice: it is accepted and changes nothing, as with ROCm.
hipError_t hipDeviceGetCacheConfig(hipFuncCache_t* config);
hipError_t hipDeviceSetCacheConfig(hipFuncCache_t config);
hipError_t hipDeviceGetSharedMemConfig(hipSharedMemConfig* config);
hipError_t hipDeviceSetSharedMemConfig(hipSharedMemConfig config);
// hipErrorNotSupported, as with ROCm.
hipError_t hipProfilerStart();
hipError_t hipProfilerStop();
// One process has the device: hipErrorNotSupported.
hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t* handle, void* pointer);
hipError_t hipIpcOpenMemHandle(void** pointer, hipIpcMemHandle_t handle, unsigned flags);
hipError_t hipIpcCloseMemHandle(void* pointer);
hipError_t hipIpcGetEventHandle(hipIpcEventHandle_t* handle, hipEvent_t event);
hipError_t hipIpcOpenEventHandle(hipEvent_t* event, hipIpcEventHandle_t handle);
}
#pragma GCC visibility pop

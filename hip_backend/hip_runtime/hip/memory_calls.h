// Memory of the device, copies and fills. Those without a stream wait for the device, as what is
// done on the stream without a name. Included by hip_runtime.h.
#pragma once

#include "texture_types.h"

#pragma GCC visibility push(default)
extern "C" {
hipError_t hipMemGetInfo(std::size_t* free, std::size_t* total);
hipError_t hipMalloc(void** pointer, std::size_t bytes);
hipError_t hipMallocPitch(void** pointer, std::size_t* pitch, std::size_t width,
                          std::size_t height);
hipError_t hipMalloc3D(hipPitchedPtr* pointer, hipExtent extent);
hipError_t hipMallocAsync(void** pointer, std::size_t bytes, hipStream_t stream);
hipError_t hipExtMallocWithFlags(void** pointer, std::size_t bytes, unsigned flags);
hipError_t hipMallocManaged(void** pointer, std::size_t bytes, unsigned flags = 1);
hipError_t hipFree(void* pointer);
hipError_t hipFreeAsync(void* pointer, hipStream_t stream);
hipError_t hipHostMalloc(void** pointer, std::size_t bytes, unsigned flags = 0);
hipError_t hipHostAlloc(void** pointer, std::size_t bytes, unsigned flags);
hipError_t hipMallocHost(void** pointer, std::size_t bytes);
hipError_t hipMemAllocHost(void** pointer, std::size_t bytes);
hipError_t hipMemAllocPitch(hipDeviceptr_t* pointer, std::size_t* pitch, std::size_t width,
                            std::size_t height, unsigned element_bytes);
hipError_t hipHostFree(void* pointer);
hipError_t hipFreeHost(void* pointer);
hipError_t hipHostRegister(void* pointer, std::size_t bytes, unsigned flags);
hipError_t hipHostUnregister(void* pointer);
hipError_t hipHostGetFlags(unsigned* flags, void* pointer);
hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, std::size_t* bytes, hipDeviceptr_t pointer);
hipError_t hipMemPtrGetInfo(void* pointer, std::size_t* bytes);
hipError_t hipHostGetDevicePointer(void** device, void* host, unsigned flags);
hipError_t hipMemPrefetchAsync(const void* pointer, std::size_t bytes, int device,
                               hipStream_t stream = nullptr);
hipError_t hipMemAdvise(const void* pointer, std::size_t bytes, hipMemoryAdvise advice, int device);
// What advice and prefetches say of a range, each all of it.
hipError_t hipMemRangeGetAttribute(void* value, std::size_t value_bytes,
                                   hipMemRangeAttribute attribute, const void* pointer,
                                   std::size_t bytes);
hipError_t hipMemRangeGetAttributes(void** values, std::size_t* value_bytes,
                                    hipMemRangeAttribute* attributes, std::size_t count,
                                    const void* pointer, std::size_t bytes);
hipError_t hipPointerGetAttribute(void* value, hipPointer_attribute attribute,
                                  hipDeviceptr_t pointer);
hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer);

// hipErrorNotSupported: there are no textures.
hipError_t hipCreateTextureObject(hipTextureObject_t* texture, const hipResourceDesc* resource,
                                  const hipTextureDesc* description, const void* view);
hipError_t hipDestroyTextureObject(hipTextureObject_t texture);

hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind);
hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                          hipStream_t stream = nullptr);
hipError_t hipMemcpyWithStream(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                               hipStream_t stream);
hipError_t hipMemcpyHtoD(hipDeviceptr_t to, const void* from, std::size_t bytes);
hipError_t hipMemcpyDtoH(void* to, hipDeviceptr_t from, std::size_t bytes);
hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, std::size_t bytes);
hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, const void* from, std::size_t bytes,
                              hipStream_t stream);
hipError_t hipMemcpyDtoHAsync(void* to, hipDeviceptr_t from, std::size_t bytes, hipStream_t stream);
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, std::size_t bytes,
                              hipStream_t stream);
hipError_t hipMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                         std::size_t bytes);
hipError_t hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                              std::size_t bytes, hipStream_t stream = nullptr);
hipError_t hipMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                       std::size_t width, std::size_t height, hipMemcpyKind kind);
hipError_t hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                            std::size_t from_pitch, std::size_t width, std::size_t height,
                            hipMemcpyKind kind, hipStream_t stream = nullptr);
hipError_t hipMemcpy3D(const hipMemcpy3DParms* copy);
hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms* copy, hipStream_t stream = nullptr);

hipError_t hipMemset(void* to, int value, std::size_t bytes);
hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes, hipStream_t stream = nullptr);
hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, std::size_t count);
hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, std::size_t count,
                            hipStream_t stream = nullptr);
hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, std::size_t count);
hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, std::size_t count,
                             hipStream_t stream = nullptr);
hipError_t hipMemsetD32(hipDeviceptr_t to, int value, std::size_t count);
hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, std::size_t count,
                             hipStream_t stream = nullptr);
hipError_t hipMemset2D(void* to, std::size_t pitch, int value, std::size_t width,
                       std::size_t height);
hipError_t hipMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width,
                            std::size_t height, hipStream_t stream = nullptr);
hipError_t hipMemset3D(hipPitchedPtr to, int value, hipExtent extent);
hipError_t hipMemset3DAsync(hipPitchedPtr to, int value, hipExtent extent,
                            hipStream_t stream = nullptr);

hipError_t hipGetSymbolAddress(void** address, const void* symbol);
hipError_t hipGetSymbolSize(std::size_t* bytes, const void* symbol);
hipError_t hipMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes,
                             std::size_t offset = 0, hipMemcpyKind kind = hipMemcpyHostToDevice);
hipError_t hipMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes,
                               std::size_t offset = 0, hipMemcpyKind kind = hipMemcpyDeviceToHost);
hipError_t hipMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes,
                                  std::size_t offset, hipMemcpyKind kind,
                                  hipStream_t stream = nullptr);
hipError_t hipMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes,
                                    std::size_t offset, hipMemcpyKind kind,
                                    hipStream_t stream = nullptr);
}
#pragma GCC visibility pop

template <class T>
hipError_t hipMalloc(T** pointer, std::size_t bytes) {
  return hipMalloc(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
hipError_t hipMallocPitch(T** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  return hipMallocPitch(reinterpret_cast<void**>(pointer), pitch, width, height);
}
template <class T>
hipError_t hipHostMalloc(T** pointer, std::size_t bytes, unsigned flags = 0) {
  return hipHostMalloc(reinterpret_cast<void**>(pointer), bytes, flags);
}
template <class T>
hipError_t hipMallocManaged(T** pointer, std::size_t bytes, unsigned flags = 1) {
  return hipMallocManaged(reinterpret_cast<void**>(pointer), bytes, flags);
}
template <class T>
hipError_t hipMallocAsync(T** pointer, std::size_t bytes, hipStream_t stream) {
  return hipMallocAsync(reinterpret_cast<void**>(pointer), bytes, stream);
}
template <class T>
hipError_t hipMallocHost(T** pointer, std::size_t bytes) {
  return hipMallocHost(reinterpret_cast<void**>(pointer), bytes);
}
// A variable is named by itself, as in HIP: what these get is its shadow on the host.
#define HIP_SYMBOL(variable) variable
template <class T>
hipError_t hipGetSymbolAddress(void** address, const T& symbol) {
  return hipGetSymbolAddress(address, static_cast<const void*>(&symbol));
}
template <class T>
hipError_t hipGetSymbolSize(std::size_t* bytes, const T& symbol) {
  return hipGetSymbolSize(bytes, static_cast<const void*>(&symbol));
}
template <class T>
hipError_t hipMemcpyToSymbol(const T& symbol, const void* from, std::size_t bytes,
                             std::size_t offset = 0, hipMemcpyKind kind = hipMemcpyHostToDevice) {
  return hipMemcpyToSymbol(static_cast<const void*>(&symbol), from, bytes, offset, kind);
}
template <class T>
hipError_t hipMemcpyFromSymbol(void* to, const T& symbol, std::size_t bytes, std::size_t offset = 0,
                               hipMemcpyKind kind = hipMemcpyDeviceToHost) {
  return hipMemcpyFromSymbol(to, static_cast<const void*>(&symbol), bytes, offset, kind);
}
template <class T>
hipError_t hipMemcpyToSymbolAsync(const T& symbol, const void* from, std::size_t bytes,
                                  std::size_t offset, hipMemcpyKind kind, hipStream_t stream) {
  return hipMemcpyToSymbolAsync(static_cast<const void*>(&symbol), from, bytes, offset, kind,
                                stream);
}
template <class T>
hipError_t hipMemcpyFromSymbolAsync(void* to, const T& symbol, std::size_t bytes,
                                    std::size_t offset, hipMemcpyKind kind, hipStream_t stream) {
  return hipMemcpyFromSymbolAsync(to, static_cast<const void*>(&symbol), bytes, offset, kind,
                                  stream);
}

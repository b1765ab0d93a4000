// Memory in the order of a stream, from pools. What is freed is free at once, so that a pool keeps
// nothing back. Included by hip_runtime.h.
#pragma once

#include "pool_types.h"

#pragma GCC visibility push(default)
extern "C" {
hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t* pool, int device);
hipError_t hipDeviceGetMemPool(hipMemPool_t* pool, int device);
hipError_t hipDeviceSetMemPool(int device, hipMemPool_t pool);
hipError_t hipMemPoolCreate(hipMemPool_t* pool, const hipMemPoolProps* properties);
// Memory that was given out stays until it is freed.
hipError_t hipMemPoolDestroy(hipMemPool_t pool);
hipError_t hipMallocFromPoolAsync(void** pointer, std::size_t bytes, hipMemPool_t pool,
                                  hipStream_t stream);
hipError_t hipMemPoolTrimTo(hipMemPool_t pool, std::size_t bytes);
hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void* value);
hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void* value);
hipError_t hipMemPoolSetAccess(hipMemPool_t pool, const hipMemAccessDesc* access,
                               std::size_t count);
hipError_t hipMemPoolGetAccess(hipMemAccessFlags* flags, hipMemPool_t pool,
                               hipMemLocation* location);
// One process has the device: hipErrorNotSupported.
hipError_t hipMemPoolExportToShareableHandle(void* handle, hipMemPool_t pool,
                                             hipMemAllocationHandleType type, unsigned flags);
hipError_t hipMemPoolImportFromShareableHandle(hipMemPool_t* pool, void* handle,
                                               hipMemAllocationHandleType type, unsigned flags);
hipError_t hipMemPoolExportPointer(hipMemPoolPtrExportData* exported, void* pointer);
hipError_t hipMemPoolImportPointer(void** pointer, hipMemPool_t pool,
                                   hipMemPoolPtrExportData* exported);
}
#pragma GCC visibility pop

template <class T>
hipError_t hipMallocFromPoolAsync(T** pointer, std::size_t bytes, hipMemPool_t pool,
                                  hipStream_t stream) {
  return hipMallocFromPoolAsync(reinterpret_cast<void**>(pointer), bytes, pool, stream);
}
template <class T>
hipError_t hipMallocAsync(T** pointer, std::size_t bytes, hipMemPool_t pool, hipStream_t stream) {
  return hipMallocFromPoolAsync(pointer, bytes, pool, stream);
}

// Contexts: of one device, which has what they would hold. Included by hip_runtime.h.
#pragma once

#include "runtime_types.h"

#pragma GCC visibility push(default)
extern "C" {
hipError_t hipCtxCreate(hipCtx_t* context, unsigned flags, hipDevice_t device);
hipError_t hipCtxDestroy(hipCtx_t context);
hipError_t hipCtxPushCurrent(hipCtx_t context);
hipError_t hipCtxPopCurrent(hipCtx_t* context);
hipError_t hipCtxSetCurrent(hipCtx_t context);
hipError_t hipCtxGetCurrent(hipCtx_t* context);
hipError_t hipCtxGetDevice(hipDevice_t* device);
hipError_t hipCtxGetFlags(unsigned* flags);
hipError_t hipCtxSynchronize();
hipError_t hipCtxGetApiVersion(hipCtx_t context, unsigned* version);
hipError_t hipCtxGetCacheConfig(hipFuncCache_t* config);
hipError_t hipCtxSetCacheConfig(hipFuncCache_t config);
hipError_t hipCtxGetSharedMemConfig(hipSharedMemConfig* config);
hipError_t hipCtxSetSharedMemConfig(hipSharedMemConfig config);
hipError_t hipCtxEnablePeerAccess(hipCtx_t peer, unsigned flags);
hipError_t hipCtxDisablePeerAccess(hipCtx_t peer);
hipError_t hipDevicePrimaryCtxRetain(hipCtx_t* context, hipDevice_t device);
hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device);
hipError_t hipDevicePrimaryCtxReset(hipDevice_t device);
hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned* flags, int* active);
hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t device, unsigned flags);
}
#pragma GCC visibility pop

// Types and numbers of the host's side of hip_runtime.h. Names and values are those of HIP 6.4; a
// name that is not here is an error of the compiler.
#pragma once

#include <cstddef>
#include <cstdint>

#include "errors.h"

#if defined(__HIP__)
#define MLA_HIP_BOTH __attribute__((host)) __attribute__((device))
#else
#define MLA_HIP_BOTH
#endif

enum hipMemcpyKind {
  hipMemcpyHostToHost,
  hipMemcpyHostToDevice,
  hipMemcpyDeviceToHost,
  hipMemcpyDeviceToDevice,
  hipMemcpyDefault,
};
enum hipComputeMode {
  hipComputeModeDefault,
  hipComputeModeExclusive,
  hipComputeModeProhibited,
  hipComputeModeExclusiveProcess,
};
enum hipDeviceAttribute_t {
  hipDeviceAttributeEccEnabled,
  hipDeviceAttributeAsyncEngineCount = 2,
  hipDeviceAttributeCanMapHostMemory,
  hipDeviceAttributeCanUseHostPointerForRegisteredMem,
  hipDeviceAttributeClockRate,
  hipDeviceAttributeComputeMode,
  hipDeviceAttributeConcurrentKernels = 8,
  hipDeviceAttributeConcurrentManagedAccess,
  hipDeviceAttributeCooperativeLaunch,
  hipDeviceAttributeCooperativeMultiDeviceLaunch,
  hipDeviceAttributeHostNativeAtomicSupported = 15,
  hipDeviceAttributeIntegrated,
  hipDeviceAttributeIsMultiGpuBoard,
  hipDeviceAttributeKernelExecTimeout,
  hipDeviceAttributeL2CacheSize,
  hipDeviceAttributeComputeCapabilityMajor = 23,
  hipDeviceAttributeManagedMemory,
  hipDeviceAttributeMaxBlocksPerMultiProcessor,
  hipDeviceAttributeMaxBlockDimX,
  hipDeviceAttributeMaxBlockDimY,
  hipDeviceAttributeMaxBlockDimZ,
  hipDeviceAttributeMaxGridDimX,
  hipDeviceAttributeMaxGridDimY,
  hipDeviceAttributeMaxGridDimZ,
  hipDeviceAttributeMaxThreadsPerBlock = 56,
  hipDeviceAttributeMaxThreadsPerMultiProcessor,
  hipDeviceAttributeMaxPitch,
  hipDeviceAttributeMemoryBusWidth,
  hipDeviceAttributeMemoryClockRate,
  hipDeviceAttributeComputeCapabilityMinor,
  hipDeviceAttributeMultiprocessorCount = 63,
  hipDeviceAttributePageableMemoryAccess = 65,
  hipDeviceAttributePciBusId = 67,
  hipDeviceAttributePciDeviceId,
  hipDeviceAttributePciDomainId,
  hipDeviceAttributeMaxRegistersPerBlock = 71,
  hipDeviceAttributeMaxRegistersPerMultiprocessor,
  hipDeviceAttributeMaxSharedMemoryPerBlock = 74,
  hipDeviceAttributeSharedMemPerBlockOptin,
  hipDeviceAttributeSharedMemPerMultiprocessor,
  hipDeviceAttributeStreamPrioritiesSupported = 78,
  hipDeviceAttributeTotalConstantMemory = 83,
  hipDeviceAttributeTotalGlobalMem,
  hipDeviceAttributeUnifiedAddressing,
  hipDeviceAttributeWarpSize = 87,
  hipDeviceAttributeMemoryPoolsSupported,
  hipDeviceAttributeVirtualMemoryManagementSupported,
  hipDeviceAttributeHostRegisterSupported,
  hipDeviceAttributeMemoryPoolSupportedHandleTypes,
  hipDeviceAttributeMaxSharedMemoryPerMultiprocessor = 10002,
  hipDeviceAttributeAsicRevision = 10012,
  hipDeviceAttributeCanUseStreamWaitValue,
  hipDeviceAttributeImageSupport,
  hipDeviceAttributePhysicalMultiProcessorCount,
  hipDeviceAttributeFineGrainSupport,
  hipDeviceAttributeWallClockRate,
  hipDeviceAttributePciChipId = 10019,
};
enum hipMemoryType {
  hipMemoryTypeUnregistered,
  hipMemoryTypeHost,
  hipMemoryTypeDevice,
  hipMemoryTypeManaged,
  hipMemoryTypeArray = 10,
  hipMemoryTypeUnified,
};
enum hipMemoryAdvise {
  hipMemAdviseSetReadMostly = 1,
  hipMemAdviseUnsetReadMostly,
  hipMemAdviseSetPreferredLocation,
  hipMemAdviseUnsetPreferredLocation,
  hipMemAdviseSetAccessedBy,
  hipMemAdviseUnsetAccessedBy,
  hipMemAdviseSetCoarseGrain = 100,
  hipMemAdviseUnsetCoarseGrain,
};
enum hipFuncAttribute {
  hipFuncAttributeMaxDynamicSharedMemorySize = 8,
  hipFuncAttributePreferredSharedMemoryCarveout,
};
enum hipFunction_attribute {
  HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
  HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
  HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
  HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
  HIP_FUNC_ATTRIBUTE_NUM_REGS,
  HIP_FUNC_ATTRIBUTE_PTX_VERSION,
  HIP_FUNC_ATTRIBUTE_BINARY_VERSION,
  HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA,
  HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
};
enum hipFuncCache_t {
  hipFuncCachePreferNone,
  hipFuncCachePreferShared,
  hipFuncCachePreferL1,
  hipFuncCachePreferEqual,
};
enum hipSharedMemConfig {
  hipSharedMemBankSizeDefault,
  hipSharedMemBankSizeFourByte,
  hipSharedMemBankSizeEightByte,
};
enum hipLimit_t {
  hipLimitStackSize,
  hipLimitPrintfFifoSize,
  hipLimitMallocHeapSize,
  hipLimitRange,
};
enum hipDeviceP2PAttr {
  hipDevP2PAttrPerformanceRank,
  hipDevP2PAttrAccessSupported,
  hipDevP2PAttrNativeAtomicSupported,
  hipDevP2PAttrHipArrayAccessSupported,
};
enum hipMemRangeAttribute {
  hipMemRangeAttributeReadMostly = 1,
  hipMemRangeAttributePreferredLocation,
  hipMemRangeAttributeAccessedBy,
  hipMemRangeAttributeLastPrefetchLocation,
  hipMemRangeAttributeCoherencyMode = 100,
};
enum hipMemRangeCoherencyMode {
  hipMemRangeCoherencyModeFineGrain,
  hipMemRangeCoherencyModeCoarseGrain,
  hipMemRangeCoherencyModeIndeterminate,
};
enum hipPointer_attribute {
  HIP_POINTER_ATTRIBUTE_CONTEXT = 1,
  HIP_POINTER_ATTRIBUTE_MEMORY_TYPE,
  HIP_POINTER_ATTRIBUTE_DEVICE_POINTER,
  HIP_POINTER_ATTRIBUTE_HOST_POINTER,
  HIP_POINTER_ATTRIBUTE_BUFFER_ID = 7,
  HIP_POINTER_ATTRIBUTE_IS_MANAGED,
  HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
  HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
  HIP_POINTER_ATTRIBUTE_RANGE_SIZE,
  HIP_POINTER_ATTRIBUTE_MAPPED,
};
enum : unsigned { hipIpcMemLazyEnablePeerAccess = 1 };

// Flags. Macros as in HIP, where programs ask for them with #ifdef and hand hipStreamDefault to a
// launch as its stream.
#define hipStreamDefault 0x00
#define hipStreamNonBlocking 0x01
#define hipEventDefault 0x0
#define hipEventBlockingSync 0x1
#define hipEventDisableTiming 0x2
#define hipEventInterprocess 0x4
#define hipHostMallocDefault 0x0
#define hipHostMallocPortable 0x1
#define hipHostMallocMapped 0x2
#define hipHostMallocWriteCombined 0x4
#define hipHostMallocNumaUser 0x20000000
#define hipHostMallocCoherent 0x40000000
#define hipHostMallocNonCoherent 0x80000000
#define hipDeviceMallocDefault 0x0
#define hipDeviceMallocFinegrained 0x1
#define hipMallocSignalMemory 0x2
#define hipDeviceMallocUncached 0x3
#define hipDeviceMallocContiguous 0x4
#define hipHostRegisterDefault 0x0
#define hipHostRegisterPortable 0x1
#define hipHostRegisterMapped 0x2
#define hipHostRegisterReadOnly 0x08
#define hipMemAttachGlobal 0x01
#define hipMemAttachHost 0x02
#define hipMemAttachSingle 0x04
#define hipStreamWaitValueGte 0x0
#define hipStreamWaitValueEq 0x1
#define hipStreamWaitValueAnd 0x2
#define hipStreamWaitValueNor 0x3
#define hipDeviceScheduleAuto 0x0
#define hipDeviceScheduleSpin 0x1
#define hipDeviceScheduleYield 0x2
#define hipDeviceScheduleBlockingSync 0x4
#define hipDeviceScheduleMask 0x7
#define hipDeviceMapHost 0x8
#define HIP_LAUNCH_PARAM_BUFFER_POINTER ((void*)1)
#define HIP_LAUNCH_PARAM_BUFFER_SIZE ((void*)2)
#define HIP_LAUNCH_PARAM_END ((void*)3)

using hipDevice_t = int;
using hipDeviceptr_t = void*;
using hipStream_t = struct ihipStream_t*;
using hipEvent_t = struct ihipEvent_t*;
using hipCtx_t = struct ihipCtx_t*;
using hipModule_t = struct ihipModule_t*;
using hipFunction_t = struct ihipModuleSymbol_t*;
// Numbers that are handed over as streams: the calling thread's, and the one that all wait for.
#define hipStreamPerThread ((hipStream_t)2)
#define hipStreamLegacy ((hipStream_t)1)
#define hipCpuDeviceId ((int)-1)
#define hipInvalidDeviceId ((int)-2)
enum hipJitOption : int;
struct hipIpcMemHandle_t {
  char reserved[64];
};
struct hipIpcEventHandle_t {
  char reserved[64];
};
struct hipUUID_t {
  char bytes[16];
};
using hipUUID = hipUUID_t;
struct hipDeviceArch_t {
  unsigned hasGlobalInt32Atomics : 1, hasGlobalFloatAtomicExch : 1, hasSharedInt32Atomics : 1;
  unsigned hasSharedFloatAtomicExch : 1, hasFloatAtomicAdd : 1, hasGlobalInt64Atomics : 1;
  unsigned hasSharedInt64Atomics : 1, hasDoubles : 1, hasWarpVote : 1, hasWarpBallot : 1;
  unsigned hasWarpShuffle : 1, hasFunnelShift : 1, hasThreadFenceSystem : 1;
  unsigned hasSyncThreadsExt : 1, hasSurfaceFuncs : 1, has3dGrid : 1, hasDynamicParallelism : 1;
};
// The fields that the emulated device has an answer to.
struct hipDeviceProp_t {
  char name[256];
  hipUUID uuid;
  char gcnArchName[256];
  std::size_t totalGlobalMem, totalConstMem;                        // bytes
  std::size_t sharedMemPerBlock, maxSharedMemoryPerMultiProcessor;  // bytes
  int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsPerMultiProcessor;
  int maxThreadsDim[3], maxGridSize[3];
  int clockRate, memoryClockRate;  // kHz
  int memoryBusWidth;              // bits
  int l2CacheSize;                 // bytes
  int multiProcessorCount, major, minor, computeMode;
  int canMapHostMemory, managedMemory, integrated;
  int cooperativeLaunch, cooperativeMultiDeviceLaunch;
  int asicRevision;
  // The same as maxSharedMemoryPerMultiProcessor, and as sharedMemPerBlock.
  std::size_t sharedMemPerMultiprocessor, sharedMemPerBlockOptin;  // bytes
  std::size_t memPitch;                                            // bytes
  int regsPerMultiprocessor, maxBlocksPerMultiProcessor;
  int pciDomainID, pciBusID, pciDeviceID;
  int concurrentKernels, asyncEngineCount, deviceOverlap, streamPrioritiesSupported;
  int unifiedAddressing, canUseHostPointerForRegisteredMem, hostRegisterSupported;
  int hostNativeAtomicSupported, isLargeBar, memoryPoolsSupported;
  int concurrentManagedAccess, directManagedMemAccessFromHost, pageableMemoryAccess;
  int ECCEnabled, isMultiGpuBoard, kernelExecTimeoutEnabled, tccDriver;
  int clockInstructionRate;  // kHz, of wall_clock64() on a GPU
  hipDeviceArch_t arch;
};

// The names that these have since HIP 6.0.
using hipDeviceProp_tR0600 = hipDeviceProp_t;
#define hipGetDevicePropertiesR0600 hipGetDeviceProperties
#define hipChooseDeviceR0600 hipChooseDevice

struct dim3 {
  std::uint32_t x, y, z;
  MLA_HIP_BOTH constexpr dim3(std::uint32_t x_ = 1, std::uint32_t y_ = 1, std::uint32_t z_ = 1)
      : x(x_), y(y_), z(z_) {}
};

// Memory in rows and slices.
using hipArray_t = struct hipArray*;
struct hipPitchedPtr {
  void* ptr;
  std::size_t pitch;         // bytes from row to row
  std::size_t xsize, ysize;  // bytes of a row, rows of a slice
};
struct hipExtent {
  std::size_t width, height, depth;  // bytes, rows, slices
};
struct hipPos {
  std::size_t x, y, z;  // bytes, rows, slices
};
inline hipPitchedPtr make_hipPitchedPtr(void* pointer, std::size_t pitch, std::size_t x,
                                        std::size_t y) {
  return {pointer, pitch, x, y};
}
inline hipExtent make_hipExtent(std::size_t width, std::size_t height, std::size_t depth) {
  return {width, height, depth};
}
inline hipPos make_hipPos(std::size_t x, std::size_t y, std::size_t z) {
  return {x, y, z};
}
struct hipMemcpy3DParms {
  hipArray_t srcArray;  // null: there are no textures
  hipPos srcPos;
  hipPitchedPtr srcPtr;
  hipArray_t dstArray;
  hipPos dstPos;
  hipPitchedPtr dstPtr;
  hipExtent extent;
  hipMemcpyKind kind;
};
struct hipPointerAttribute_t {
  hipMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
  int isManaged;
  unsigned allocationFlags;
};
struct hipFuncAttributes {
  int binaryVersion, cacheModeCA;
  std::size_t constSizeBytes, localSizeBytes;  // bytes of a thread
  int maxDynamicSharedSizeBytes, maxThreadsPerBlock, numRegs, preferredShmemCarveout, ptxVersion;
  std::size_t sharedSizeBytes;
};

// A launch that a structure describes.
struct hipAccessPolicyWindow {
  void* base_ptr;
  int hitProp;
  float hitRatio;
  int missProp;
  std::size_t num_bytes;
};
enum hipLaunchAttributeID {
  hipLaunchAttributeAccessPolicyWindow = 1,
  hipLaunchAttributeCooperative,
  hipLaunchAttributePriority = 8,
};
union hipLaunchAttributeValue {
  char pad[64];
  hipAccessPolicyWindow accessPolicyWindow;
  int cooperative;
  int priority;
};
struct hipLaunchAttribute {
  hipLaunchAttributeID id;
  union {
    hipLaunchAttributeValue val;
    hipLaunchAttributeValue value;
  };
};
struct hipLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  hipStream_t stream;
  hipLaunchAttribute* attrs;
  unsigned numAttrs;
};

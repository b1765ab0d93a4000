// Types and numbers of the host's side of hip_runtime.h. Names and values are those of HIP 6.4; a
// name that is not here is an error of the compiler.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__HIP__)
#define MLA_HIP_BOTH __attribute__((host)) __attribute__((device))
#else
#define MLA_HIP_BOTH
#endif

// Name, number, and the text of hipGetErrorString.
#define MLA_HIP_CAPTURE_ERRORS(error)                                                              \
  error(hipErrorStreamCaptureUnsupported, 900, "not while a stream is captured")                   \
      error(hipErrorStreamCaptureInvalidated, 901, "an earlier error ended the capture")           \
          error(hipErrorStreamCaptureMerge, 902, "two captures would become one") error(           \
              hipErrorStreamCaptureUnmatched, 903, "the capture began on another stream")          \
              error(hipErrorStreamCaptureUnjoined, 904,                                            \
                    "a stream that joined the capture was not joined back")                        \
                  error(hipErrorStreamCaptureIsolation, 905,                                       \
                        "a capture depends on what is not captured")                               \
                      error(hipErrorStreamCaptureImplicit, 906,                                    \
                            "a capture depends on the stream without a name")                      \
                          error(hipErrorCapturedEvent, 907, "the event was recorded by a capture") \
                              error(hipErrorStreamCaptureWrongThread, 908,                         \
                                    "the capture began in another thread")                         \
                                  error(hipErrorGraphExecUpdateFailure, 910,                       \
                                        "the graph is not as the executable graph")
#define MLA_HIP_ERRORS(error)                                                                      \
  error(hipSuccess, 0, "no error") error(hipErrorInvalidValue, 1, "invalid argument") error(       \
      hipErrorOutOfMemory, 2,                                                                      \
      "out of memory") error(hipErrorNotInitialized, 3,                                            \
                             "initialization error") error(hipErrorInvalidConfiguration, 9,        \
                                                           "invalid configuration argument")       \
      error(hipErrorInvalidPitchValue, 12, "invalid pitch argument") error(                        \
          hipErrorInvalidSymbol, 13, "invalid device symbol") error(hipErrorInvalidDevicePointer,  \
                                                                    17, "invalid device pointer")  \
          error(hipErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy") error(    \
              hipErrorInvalidDeviceFunction, 98,                                                   \
              "invalid device function") error(hipErrorNoDevice, 100,                              \
                                               "no ROCm-capable device is detected")               \
              error(hipErrorInvalidDevice, 101, "invalid device ordinal") error(                   \
                  hipErrorInvalidImage, 200,                                                       \
                  "device kernel image is invalid") error(hipErrorFileNotFound, 301,               \
                                                          "file not found")                        \
                  error(hipErrorInvalidHandle, 400, "invalid resource handle") error(              \
                      hipErrorIllegalState, 401,                                                   \
                      "not in this state") error(hipErrorNotFound, 500, "named symbol not found")  \
                      error(hipErrorNotReady, 600, "device not ready") error(                      \
                          hipErrorIllegalAddress, 700, "an illegal memory access was encountered") \
                          error(hipErrorPeerAccessAlreadyEnabled, 704,                             \
                                "peer access is already enabled")                                  \
                              error(hipErrorPeerAccessNotEnabled, 705,                             \
                                    "peer access has not been enabled")                            \
                                  error(hipErrorAssert, 710, "device-side assert triggered")       \
                                      error(hipErrorHostMemoryAlreadyRegistered, 712,              \
                                            "memory is mapped already")                            \
                                          error(hipErrorHostMemoryNotRegistered, 713,              \
                                                "pointer does not correspond to registered")       \
                                              error(hipErrorLaunchFailure, 719,                    \
                                                    "a kernel did what no kernel may do")          \
                                                  error(hipErrorCooperativeLaunchTooLarge, 720,    \
                                                        "more blocks than fit on the device")      \
                                                      error(                                       \
                                                          hipErrorNotSupported, 801,               \
                                                          "not supported on the emulated device")  \
                                                          MLA_HIP_CAPTURE_ERRORS(error)            \
                                                              error(hipErrorUnknown, 999,          \
                                                                    "unknown error")

enum hipError_t : int {
#define MLA_ENUMERATOR(name, number, text) name = number,
  MLA_HIP_ERRORS(MLA_ENUMERATOR)
#undef MLA_ENUMERATOR
      hipErrorInvalidResourceHandle = hipErrorInvalidHandle,
  hipErrorMemoryAllocation = hipErrorOutOfMemory,
  hipErrorInitializationError = hipErrorNotInitialized,
};
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
  hipDeviceAttributeCanMapHostMemory = 3,
  hipDeviceAttributeClockRate = 5,
  hipDeviceAttributeComputeMode = 6,
  hipDeviceAttributeCooperativeLaunch = 10,
  hipDeviceAttributeCooperativeMultiDeviceLaunch = 11,
  hipDeviceAttributeIntegrated = 16,
  hipDeviceAttributeL2CacheSize = 19,
  hipDeviceAttributeComputeCapabilityMajor = 23,
  hipDeviceAttributeManagedMemory = 24,
  hipDeviceAttributeMaxBlockDimX = 26,
  hipDeviceAttributeMaxBlockDimY = 27,
  hipDeviceAttributeMaxBlockDimZ = 28,
  hipDeviceAttributeMaxGridDimX = 29,
  hipDeviceAttributeMaxGridDimY = 30,
  hipDeviceAttributeMaxGridDimZ = 31,
  hipDeviceAttributeMaxThreadsPerBlock = 56,
  hipDeviceAttributeMaxThreadsPerMultiProcessor = 57,
  hipDeviceAttributeMemoryBusWidth = 59,
  hipDeviceAttributeMemoryClockRate = 60,
  hipDeviceAttributeComputeCapabilityMinor = 61,
  hipDeviceAttributeMultiprocessorCount = 63,
  hipDeviceAttributeMaxRegistersPerBlock = 71,
  hipDeviceAttributeMaxSharedMemoryPerBlock = 74,
  hipDeviceAttributeTotalConstantMemory = 83,
  hipDeviceAttributeWarpSize = 87,
  hipDeviceAttributeMaxSharedMemoryPerMultiprocessor = 10002,
  hipDeviceAttributeImageSupport = 10014,
  hipDeviceAttributePciChipId = 10019,
};
enum hipMemoryType {
  hipMemoryTypeUnregistered,
  hipMemoryTypeHost,
  hipMemoryTypeDevice,
  hipMemoryTypeManaged,
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
enum hipPointer_attribute { HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11 };
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
#define hipHostRegisterDefault 0x0
#define hipHostRegisterPortable 0x1
#define hipHostRegisterMapped 0x2
#define hipHostRegisterReadOnly 0x08
#define hipMemAttachGlobal 0x01
#define hipMemAttachHost 0x02
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
// The fields that the emulated device has an answer to.
struct hipDeviceProp_t {
  char name[256];
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
  std::size_t sharedMemPerMultiprocessor;  // bytes; the same as maxSharedMemoryPerMultiProcessor
};

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

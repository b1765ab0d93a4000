// hipError_t. Names and values are those of HIP 6.4. Included by runtime_types.h.
#pragma once

// Name, number, and the text of hipGetErrorString.
// clang-format off
#define MLA_HIP_ERRORS(error) \
  error(hipSuccess, 0, "no error") \
  error(hipErrorInvalidValue, 1, "invalid argument") \
  error(hipErrorOutOfMemory, 2, "out of memory") \
  error(hipErrorNotInitialized, 3, "initialization error") \
  error(hipErrorDeinitialized, 4, "the runtime is shutting down") \
  error(hipErrorProfilerDisabled, 5, "profiler disabled") \
  error(hipErrorProfilerNotInitialized, 6, "profiler not initialized") \
  error(hipErrorProfilerAlreadyStarted, 7, "profiler already started") \
  error(hipErrorProfilerAlreadyStopped, 8, "profiler already stopped") \
  error(hipErrorInvalidConfiguration, 9, "invalid configuration argument") \
  error(hipErrorInvalidPitchValue, 12, "invalid pitch argument") \
  error(hipErrorInvalidSymbol, 13, "invalid device symbol") \
  error(hipErrorInvalidDevicePointer, 17, "invalid device pointer") \
  error(hipErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy") \
  error(hipErrorInsufficientDriver, 35, "driver version is insufficient for runtime version") \
  error(hipErrorMissingConfiguration, 52, "__global__ function call is not configured") \
  error(hipErrorPriorLaunchFailure, 53, "an earlier launch failed") \
  error(hipErrorInvalidDeviceFunction, 98, "invalid device function") \
  error(hipErrorNoDevice, 100, "no ROCm-capable device is detected") \
  error(hipErrorInvalidDevice, 101, "invalid device ordinal") \
  error(hipErrorInvalidImage, 200, "device kernel image is invalid") \
  error(hipErrorInvalidContext, 201, "invalid device context") \
  error(hipErrorContextAlreadyCurrent, 202, "context is already current") \
  error(hipErrorMapFailed, 205, "mapping failed") \
  error(hipErrorUnmapFailed, 206, "unmapping failed") \
  error(hipErrorArrayIsMapped, 207, "array is mapped") \
  error(hipErrorAlreadyMapped, 208, "resource is mapped already") \
  error(hipErrorNoBinaryForGpu, 209, "no kernel image is available for the device") \
  error(hipErrorAlreadyAcquired, 210, "resource is acquired already") \
  error(hipErrorNotMapped, 211, "resource is not mapped") \
  error(hipErrorNotMappedAsArray, 212, "resource is not mapped as an array") \
  error(hipErrorNotMappedAsPointer, 213, "resource is not mapped as a pointer") \
  error(hipErrorECCNotCorrectable, 214, "uncorrectable ECC error") \
  error(hipErrorUnsupportedLimit, 215, "limit is not supported") \
  error(hipErrorContextAlreadyInUse, 216, "context is in use") \
  error(hipErrorPeerAccessUnsupported, 217, "peer access is not supported") \
  error(hipErrorInvalidKernelFile, 218, "invalid kernel file") \
  error(hipErrorInvalidGraphicsContext, 219, "invalid graphics context") \
  error(hipErrorInvalidSource, 300, "device kernel source is invalid") \
  error(hipErrorFileNotFound, 301, "file not found") \
  error(hipErrorSharedObjectSymbolNotFound, 302, "symbol of a shared object was not found") \
  error(hipErrorSharedObjectInitFailed, 303, "shared object was not initialized") \
  error(hipErrorOperatingSystem, 304, "a call of the operating system failed") \
  error(hipErrorInvalidHandle, 400, "invalid resource handle") \
  error(hipErrorIllegalState, 401, "not in this state") \
  error(hipErrorNotFound, 500, "named symbol not found") \
  error(hipErrorNotReady, 600, "device not ready") \
  error(hipErrorIllegalAddress, 700, "an illegal memory access was encountered") \
  error(hipErrorLaunchOutOfResources, 701, "too many resources requested for launch") \
  error(hipErrorLaunchTimeOut, 702, "the launch timed out") \
  error(hipErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled") \
  error(hipErrorPeerAccessNotEnabled, 705, "peer access has not been enabled") \
  error(hipErrorSetOnActiveProcess, 708, "not while the device is in use") \
  error(hipErrorContextIsDestroyed, 709, "context is destroyed") \
  error(hipErrorAssert, 710, "device-side assert triggered") \
  error(hipErrorHostMemoryAlreadyRegistered, 712, "memory is mapped already") \
  error(hipErrorHostMemoryNotRegistered, 713, "pointer does not correspond to registered") \
  error(hipErrorLaunchFailure, 719, "a kernel did what no kernel may do") \
  error(hipErrorCooperativeLaunchTooLarge, 720, "more blocks than fit on the device") \
  error(hipErrorNotSupported, 801, "not supported on the emulated device") \
  error(hipErrorStreamCaptureUnsupported, 900, "not while a stream is captured") \
  error(hipErrorStreamCaptureInvalidated, 901, "an earlier error ended the capture") \
  error(hipErrorStreamCaptureMerge, 902, "two captures would become one") \
  error(hipErrorStreamCaptureUnmatched, 903, "the capture began on another stream") \
  error(hipErrorStreamCaptureUnjoined, 904, "a stream that joined was not joined back") \
  error(hipErrorStreamCaptureIsolation, 905, "a capture depends on what is not captured") \
  error(hipErrorStreamCaptureImplicit, 906, "a capture depends on the stream without a name") \
  error(hipErrorCapturedEvent, 907, "the event was recorded by a capture") \
  error(hipErrorStreamCaptureWrongThread, 908, "the capture began in another thread") \
  error(hipErrorGraphExecUpdateFailure, 910, "the graph is not as the executable graph") \
  error(hipErrorInvalidChannelDescriptor, 911, "invalid channel descriptor") \
  error(hipErrorInvalidTexture, 912, "invalid texture") \
  error(hipErrorUnknown, 999, "unknown error") \
  error(hipErrorRuntimeMemory, 1052, "a memory call of the runtime failed") \
  error(hipErrorRuntimeOther, 1053, "another call of the runtime failed")
// clang-format on

enum hipError_t : int {
#define MLA_ENUMERATOR(name, number, text) name = number,
  MLA_HIP_ERRORS(MLA_ENUMERATOR)
#undef MLA_ENUMERATOR
      hipErrorInvalidResourceHandle = hipErrorInvalidHandle,
  hipErrorMemoryAllocation = hipErrorOutOfMemory,
  hipErrorInitializationError = hipErrorNotInitialized,
  hipErrorMapBufferObjectFailed = hipErrorMapFailed,
};

// Streams and events. Everything is done when a call returns, unless its stream is captured.
// Included by hip_runtime.h.
#pragma once

#include "graph_types.h"

using hipStreamCallback_t = void (*)(hipStream_t stream, hipError_t status, void* data);

#pragma GCC visibility push(default)
extern "C" {
hipError_t hipStreamCreate(hipStream_t* stream);
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags);
// A priority beyond the range becomes the nearest one.
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority);
hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest);
hipError_t hipStreamGetPriority(hipStream_t stream, int* priority);
hipError_t hipStreamGetFlags(hipStream_t stream, unsigned* flags);
hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device);
hipError_t hipStreamGetId(hipStream_t stream, unsigned long long* id);
int hipGetStreamDeviceId(hipStream_t stream);
hipError_t hipStreamQuery(hipStream_t stream);
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags = 0);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipStreamSynchronize(hipStream_t stream);
// A wait whose condition does not hold yet is refused: nothing that comes later could change it.
hipError_t hipStreamWaitValue32(hipStream_t stream, void* pointer, std::uint32_t value,
                                unsigned flags, std::uint32_t mask = 0xffffffff);
hipError_t hipStreamWaitValue64(hipStream_t stream, void* pointer, std::uint64_t value,
                                unsigned flags, std::uint64_t mask = ~std::uint64_t{0});
hipError_t hipStreamWriteValue32(hipStream_t stream, void* pointer, std::uint32_t value,
                                 unsigned flags);
hipError_t hipStreamWriteValue64(hipStream_t stream, void* pointer, std::uint64_t value,
                                 unsigned flags);
hipError_t hipStreamAttachMemAsync(hipStream_t stream, void* pointer, std::size_t bytes = 0,
                                   unsigned flags = hipMemAttachSingle);
// The mask is kept, and every unit is used.
hipError_t hipExtStreamCreateWithCUMask(hipStream_t* stream, std::uint32_t words,
                                        const std::uint32_t* mask);
hipError_t hipExtStreamGetCUMask(hipStream_t stream, std::uint32_t words, std::uint32_t* mask);
hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* data);
hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* data,
                                unsigned flags);
hipError_t hipEventCreate(hipEvent_t* event);
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags);
hipError_t hipEventQuery(hipEvent_t event);
hipError_t hipEventDestroy(hipEvent_t event);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream = nullptr);
hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream = nullptr,
                                   unsigned flags = 0);
hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t from, hipEvent_t to);
}
#pragma GCC visibility pop

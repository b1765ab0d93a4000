// Streams and events. Everything is done when a call returns, so that a stream has nothing left to
// do.
#include <chrono>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/state.hpp"

namespace rt = mla::hip_runtime;

// The moment at which an event was recorded.
struct ihipEvent_t {
  std::chrono::steady_clock::time_point at{};
  bool recorded = false, timed = true;
};
struct ihipStream_t {
  unsigned flags = hipStreamDefault;
};

extern "C" {

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  if (stream == nullptr || flags > hipStreamNonBlocking) return rt::keep(hipErrorInvalidValue);
  return *stream = new ihipStream_t{flags}, hipSuccess;
}
hipError_t hipStreamCreate(hipStream_t* stream) {
  return hipStreamCreateWithFlags(stream, hipStreamDefault);
}
hipError_t hipStreamGetFlags(hipStream_t stream, unsigned* flags) {
  if (flags == nullptr) return rt::keep(hipErrorInvalidValue);
  return *flags = stream == nullptr ? hipStreamDefault : stream->flags, hipSuccess;
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  if (stream == nullptr) return rt::keep(hipErrorInvalidResourceHandle);
  return delete stream, hipSuccess;
}
hipError_t hipStreamSynchronize(hipStream_t) {
  return hipSuccess;
}
hipError_t hipStreamQuery(hipStream_t) {
  return hipSuccess;
}
hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t event, unsigned flags) {
  if (flags != 0) return rt::keep(hipErrorInvalidValue);
  return event == nullptr ? rt::keep(hipErrorInvalidResourceHandle) : hipSuccess;
}
hipError_t hipStreamIsCapturing(hipStream_t, hipStreamCaptureStatus* status) {
  return *status = hipStreamCaptureStatusNone, hipSuccess;
}

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  const rt::Turn turn;
  if ((flags & hipEventInterprocess) != 0)
    return rt::fault(hipErrorNotSupported,
                     "hipEventCreateWithFlags: hipEventInterprocess is not supported");
  if (event == nullptr || (flags & ~(hipEventBlockingSync | hipEventDisableTiming)) != 0)
    return rt::keep(hipErrorInvalidValue);
  *event = new ihipEvent_t;
  (*event)->timed = (flags & hipEventDisableTiming) == 0;
  return hipSuccess;
}
hipError_t hipEventCreate(hipEvent_t* event) {
  return hipEventCreateWithFlags(event, hipEventDefault);
}
hipError_t hipEventQuery(hipEvent_t event) {
  return event == nullptr ? rt::keep(hipErrorInvalidResourceHandle) : hipSuccess;
}
hipError_t hipEventDestroy(hipEvent_t event) {
  if (event == nullptr) return rt::keep(hipErrorInvalidResourceHandle);
  return delete event, hipSuccess;
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t) {
  if (event == nullptr) return rt::keep(hipErrorInvalidResourceHandle);
  event->at = std::chrono::steady_clock::now();
  event->recorded = true;
  return hipSuccess;
}
hipError_t hipEventSynchronize(hipEvent_t event) {
  return event == nullptr ? rt::keep(hipErrorInvalidResourceHandle) : hipSuccess;
}
// Time of the emulation, not of a GPU.
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t from, hipEvent_t to) {
  if (from == nullptr || to == nullptr || !from->recorded || !to->recorded || !from->timed ||
      !to->timed)
    return rt::keep(hipErrorInvalidResourceHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(to->at - from->at).count();
  return hipSuccess;
}

}  // extern "C"

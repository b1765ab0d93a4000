// Streams and events.
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/order.hpp"
#include "hip_backend/hip_runtime/stream.hpp"

namespace rt = mla::hip_runtime;

namespace mla::hip_runtime {
namespace {

constexpr int least_priority = 1, greatest_priority = -1;

}  // namespace

hipError_t refuse_wait(const char* call, const std::shared_ptr<Capture>& capture) {
  if (!capture) return hipSuccess;
  capture->invalid = true;
  return fault(hipErrorStreamCaptureUnsupported,
               say(call, ": waits for a stream that is being captured; the capture is lost"));
}

}  // namespace mla::hip_runtime

extern "C" {

hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  if (stream == nullptr || flags > hipStreamNonBlocking) return rt::keep(hipErrorInvalidValue);
  const int clamped = std::clamp(priority, rt::greatest_priority, rt::least_priority);
  static std::atomic<unsigned> last = 0;
  const rt::StreamOrder order = {++last, flags != hipStreamNonBlocking, 0, {}};
  return *stream = new ihipStream_t{flags, clamped, {}, {}, {}, order}, hipSuccess;
}
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return hipStreamCreateWithPriority(stream, flags, 0);
}
hipError_t hipStreamCreate(hipStream_t* stream) {
  return hipStreamCreateWithFlags(stream, hipStreamDefault);
}
hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = rt::least_priority;
  if (greatest != nullptr) *greatest = rt::greatest_priority;
  return hipSuccess;
}
hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) {
  if (priority == nullptr) return rt::keep(hipErrorInvalidValue);
  return *priority = rt::named(stream) == nullptr ? 0 : stream->priority, hipSuccess;
}
hipError_t hipStreamGetFlags(hipStream_t stream, unsigned* flags) {
  if (flags == nullptr) return rt::keep(hipErrorInvalidValue);
  return *flags = rt::named(stream) == nullptr ? hipStreamDefault : stream->flags, hipSuccess;
}
hipError_t hipStreamGetDevice(hipStream_t, hipDevice_t* device) {
  if (device == nullptr) return rt::keep(hipErrorInvalidValue);
  return *device = 0, hipSuccess;
}
// No two streams that exist have the same.
hipError_t hipStreamGetId(hipStream_t stream, unsigned long long* id) {
  if (id == nullptr) return rt::keep(hipErrorInvalidValue);
  return *id = reinterpret_cast<std::uintptr_t>(stream), hipSuccess;
}
int hipGetStreamDeviceId(hipStream_t) {
  return 0;
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  const rt::Turn turn;
  if (rt::named(stream) == nullptr) return rt::keep(hipErrorInvalidResourceHandle);
  const auto capture = rt::capture_of(stream);
  if (capture && capture->origin == stream) rt::end(capture);
  rt::order().give_back(stream->order.line);
  return delete stream, hipSuccess;
}
hipError_t hipStreamSynchronize(hipStream_t stream) {
  const rt::Turn turn;
  rt::order().host_waits(rt::order_of(stream));
  if (rt::named(stream) == nullptr)
    return rt::waited(rt::refuse_without_stream("hipStreamSynchronize"));
  return rt::waited(rt::refuse_wait("hipStreamSynchronize", rt::capture_of(stream)));
}
hipError_t hipStreamQuery(hipStream_t stream) {
  const rt::Turn turn;
  rt::order().host_waits(rt::order_of(stream));
  if (rt::named(stream) == nullptr) return rt::waited(rt::refuse_without_stream("hipStreamQuery"));
  return rt::waited(rt::refuse_wait("hipStreamQuery", rt::capture_of(stream)));
}
// An event of a capture takes this stream into it.
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
  const rt::Turn turn;
  if (flags != 0) return rt::keep(hipErrorInvalidValue);
  if (event == nullptr) return rt::keep(hipErrorInvalidResourceHandle);
  const auto capture = event->capture.lock();
  const auto own = rt::capture_of(stream);
  if (!capture) {
    if (!own) return rt::order().wait(rt::order_of(stream), event->clock), hipSuccess;
    if (!event->recorded) return hipSuccess;
    own->invalid = true;
    return rt::fault(hipErrorStreamCaptureIsolation,
                     "hipStreamWaitEvent: a stream that is being captured waits for an event that "
                     "was recorded outside of the capture");
  }
  const bool is_named = rt::named(stream) != nullptr;
  if (!is_named || (own && own != capture)) {
    capture->invalid = true;
    return rt::fault(is_named ? hipErrorStreamCaptureMerge : hipErrorStreamCaptureImplicit,
                     "hipStreamWaitEvent: the event belongs to the capture of another stream");
  }
  if (!own) stream->last.clear();
  stream->capture = capture;
  stream->last.insert(stream->last.end(), event->after.begin(), event->after.end());
  return hipSuccess;
}
hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* data) {
  const rt::Turn turn;
  if (function == nullptr) return rt::keep(hipErrorInvalidValue);
  return rt::submit(stream, rt::HostWork{function, data});
}
hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* data,
                                unsigned flags) {
  const rt::Turn turn;
  if (callback == nullptr || flags != 0) return rt::keep(hipErrorInvalidValue);
  if (const auto bad = rt::refuse_wait("hipStreamAddCallback", rt::capture_of(stream))) return bad;
  rt::order().host_waits(rt::order_of(stream));
  return callback(stream, hipSuccess, data), hipSuccess;
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
hipError_t hipEventDestroy(hipEvent_t event) {
  if (event == nullptr) return rt::keep(hipErrorInvalidResourceHandle);
  return delete event, hipSuccess;
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  const rt::Turn turn;
  if (event == nullptr) return rt::keep(hipErrorInvalidResourceHandle);
  if (rt::named(stream) == nullptr)
    if (const auto bad = rt::refuse_without_stream("hipEventRecord")) return bad;
  const auto capture = rt::capture_of(stream);
  event->capture = capture;
  if (capture) {
    event->after = stream->last;
    event->recorded = false;
    return hipSuccess;
  }
  event->clock = rt::order().recorded(rt::order_of(stream));
  event->at = std::chrono::steady_clock::now();
  event->recorded = true;
  return hipSuccess;
}
hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags) {
  return flags == 0 ? hipEventRecord(event, stream) : rt::keep(hipErrorInvalidValue);
}
hipError_t hipEventQuery(hipEvent_t event) {
  const rt::Turn turn;
  if (event == nullptr) return rt::keep(hipErrorInvalidResourceHandle);
  rt::order().host_waits(event->clock);
  return rt::waited(rt::refuse_wait("hipEventQuery", event->capture.lock()));
}
hipError_t hipEventSynchronize(hipEvent_t event) {
  const rt::Turn turn;
  if (event == nullptr) return rt::keep(hipErrorInvalidResourceHandle);
  rt::order().host_waits(event->clock);
  return rt::waited(rt::refuse_wait("hipEventSynchronize", event->capture.lock()));
}
// Time of the emulation, not of a GPU.
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t from, hipEvent_t to) {
  if (from == nullptr || to == nullptr || !from->recorded || !to->recorded || !from->timed ||
      !to->timed)
    return rt::keep(hipErrorInvalidResourceHandle);
  if (milliseconds == nullptr) return rt::keep(hipErrorInvalidValue);
  *milliseconds = std::chrono::duration<float, std::milli>(to->at - from->at).count();
  return hipSuccess;
}

}  // extern "C"

// The capture of streams into graphs.
#include <algorithm>
#include <utility>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/stream.hpp"

namespace rt = mla::hip_runtime;

extern "C" {

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  const rt::Turn turn;
  if (mode < hipStreamCaptureModeGlobal || mode > hipStreamCaptureModeRelaxed)
    return rt::keep(hipErrorInvalidValue);
  if (rt::named(stream) == nullptr)
    return rt::fault(hipErrorStreamCaptureUnsupported,
                     "hipStreamBeginCapture: the stream without a name cannot be captured");
  if (rt::capture_of(stream)) return rt::keep(hipErrorIllegalState);
  static std::uint64_t last = 0;
  auto capture = std::make_shared<rt::Capture>();
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->id = ++last;
  stream->capture = capture;
  rt::captures().push_back(std::move(capture));
  stream->last.clear();
  return hipSuccess;
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  const rt::Turn turn;
  if (graph == nullptr) return rt::keep(hipErrorInvalidValue);
  *graph = nullptr;
  const auto capture = rt::capture_of(stream);
  if (!capture) return rt::keep(hipErrorIllegalState);
  if (capture->origin != stream) return rt::keep(hipErrorStreamCaptureUnmatched);
  if (capture->mode != hipStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id())
    return rt::keep(hipErrorStreamCaptureWrongThread);
  rt::end(capture);
  if (capture->invalid) return rt::keep(hipErrorStreamCaptureInvalidated);
  if (!capture->graph->ends_with(stream->last))
    return rt::fault(hipErrorStreamCaptureUnjoined,
                     "hipStreamEndCapture: another stream joined the capture, and the captured "
                     "stream does not wait for its last work");
  return *graph = rt::graphs().keep(std::move(capture->graph)), hipSuccess;
}

hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status,
                                   unsigned long long* id) {
  const rt::Turn turn;
  if (status == nullptr) return rt::keep(hipErrorInvalidValue);
  *status = hipStreamCaptureStatusNone;
  const auto capture = rt::capture_of(stream);
  if (!capture) return hipSuccess;
  *status = capture->invalid ? hipStreamCaptureStatusInvalidated : hipStreamCaptureStatusActive;
  if (id != nullptr) *id = capture->id;
  return hipSuccess;
}
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return hipStreamGetCaptureInfo(stream, status, nullptr);
}

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  if (mode == nullptr || *mode < hipStreamCaptureModeGlobal || *mode > hipStreamCaptureModeRelaxed)
    return rt::keep(hipErrorInvalidValue);
  return std::swap(*mode, rt::thread_mode()), hipSuccess;
}

}  // extern "C"

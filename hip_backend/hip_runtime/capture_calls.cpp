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

hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus* status,
                                      unsigned long long* id, hipGraph_t* graph,
                                      const hipGraphNode_t** after, std::size_t* count) {
  const rt::Turn turn;
  if (status == nullptr) return rt::keep(hipErrorInvalidValue);
  *status = hipStreamCaptureStatusNone;
  const auto capture = rt::capture_of(stream);
  if (!capture) return hipSuccess;
  *status = capture->invalid ? hipStreamCaptureStatusInvalidated : hipStreamCaptureStatusActive;
  if (id != nullptr) *id = capture->id;
  if (graph != nullptr) *graph = reinterpret_cast<hipGraph_t>(capture->graph.get());
  if (after != nullptr)
    *after =
        reinterpret_cast<const hipGraphNode_t*>(const_cast<rt::Node* const*>(stream->last.data()));
  if (count != nullptr) *count = stream->last.size();
  return hipSuccess;
}
hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status,
                                   unsigned long long* id) {
  return hipStreamGetCaptureInfo_v2(stream, status, id, nullptr, nullptr, nullptr);
}
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return hipStreamGetCaptureInfo(stream, status, nullptr);
}
// What the stream's next work waits for.
hipError_t hipStreamUpdateCaptureDependencies(hipStream_t stream, hipGraphNode_t* after,
                                              std::size_t count, unsigned flags) {
  const rt::Turn turn;
  const auto capture = rt::capture_of(stream);
  if (!capture) return rt::keep(hipErrorIllegalState);
  if ((count != 0 && after == nullptr) || flags > hipStreamSetCaptureDependencies)
    return rt::keep(hipErrorInvalidValue);
  for (std::size_t k = 0; k < count; ++k)
    if (!capture->graph->holds(rt::node_of(after[k])))
      return rt::fault(hipErrorInvalidValue,
                       mla::say("hipStreamUpdateCaptureDependencies: dependency ", k,
                                " is no node of the captured graph"));
  if (flags == hipStreamSetCaptureDependencies) stream->last.clear();
  for (std::size_t k = 0; k < count; ++k) stream->last.push_back(rt::node_of(after[k]));
  return hipSuccess;
}

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  if (mode == nullptr || *mode < hipStreamCaptureModeGlobal || *mode > hipStreamCaptureModeRelaxed)
    return rt::keep(hipErrorInvalidValue);
  return std::swap(*mode, rt::thread_mode()), hipSuccess;
}

}  // extern "C"

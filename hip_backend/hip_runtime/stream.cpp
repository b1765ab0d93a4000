#include "hip_backend/hip_runtime/stream.hpp"

#include <algorithm>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/memory.hpp"
#include "hip_backend/hip_runtime/order.hpp"

namespace mla::hip_runtime {
namespace {

// Numbers that programs hand over as streams: no stream that was created has such an address.
constexpr std::uintptr_t most_unnamed = 2;

template <class Which>
std::shared_ptr<Capture> first_that(Which which) {
  for (const auto& capture : captures())
    if (which(*capture)) return capture;
  return nullptr;
}

// Copies and fills on the stream without a name, and copies to memory of the host that HIP does not
// know.
bool host_waits_for(hipStream_t stream, const Work& work) {
  const auto* const copy = std::get_if<CopyWork>(&work);
  if (named(stream) == nullptr) return copy != nullptr || std::holds_alternative<FillWork>(work);
  return copy != nullptr && side_of(copy->to.base, 0) == Side::host;
}

}  // namespace

ihipStream_t* named(hipStream_t stream) {
  return reinterpret_cast<std::uintptr_t>(stream) <= most_unnamed ? nullptr : stream;
}

StreamOrder* order_of(hipStream_t stream) {
  return named(stream) == nullptr ? nullptr : &stream->order;
}

hipStreamCaptureMode& thread_mode() {
  thread_local hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
  return mode;
}

std::vector<std::shared_ptr<Capture>>& captures() {
  static std::vector<std::shared_ptr<Capture>> all;
  return all;
}

std::shared_ptr<Capture> capture_of(hipStream_t stream) {
  return named(stream) == nullptr ? nullptr : stream->capture.lock();
}

std::vector<Graph*> known_graphs() {
  std::vector<Graph*> all;
  for (const auto& graph : graphs().graphs) all.push_back(graph.get());
  for (const auto& capture : captures()) all.push_back(capture->graph.get());
  for (std::size_t k = 0; k < all.size(); ++k)
    for (const auto& node : all[k]->nodes)
      if (const auto* const child = std::get_if<GraphWork>(&node->work))
        all.push_back(child->graph.get());
  return all;
}

void end(const std::shared_ptr<Capture>& capture) {
  std::erase(captures(), capture);
}

hipError_t refuse_while_capturing(const char* call) {
  const hipStreamCaptureMode mode = thread_mode();
  if (mode == hipStreamCaptureModeRelaxed) return hipSuccess;
  const auto self = std::this_thread::get_id();
  const auto forbids = [&](const Capture& capture) {
    if (capture.thread == self && capture.mode != hipStreamCaptureModeRelaxed) return true;
    return mode == hipStreamCaptureModeGlobal && capture.mode == hipStreamCaptureModeGlobal;
  };
  if (!first_that(forbids)) return hipSuccess;
  return fault(hipErrorStreamCaptureUnsupported,
               say(call, ": not while a stream is captured in global mode, or by this thread"));
}

hipError_t refuse_without_stream(const char* call) {
  const auto waits = first_that([](const Capture& capture) {
    return !capture.invalid && (capture.origin->flags & hipStreamNonBlocking) == 0;
  });
  if (!waits) return hipSuccess;
  waits->invalid = true;
  return fault(hipErrorStreamCaptureImplicit,
               say(call,
                   ": a stream that is being captured would wait for it; the capture is "
                   "lost (hipStreamNonBlocking keeps it apart)"));
}

hipError_t submit(hipStream_t stream, Work work) {
  if (named(stream) == nullptr)
    if (const auto bad = refuse_without_stream("work on the stream without a name")) return bad;
  const auto capture = capture_of(stream);
  if (!capture) {
    const bool waits = host_waits_for(stream, work);
    const OnStream on(order_of(stream));
    const hipError_t result = run(work);
    if (waits) order().host_waits(order().now());
    return result;
  }
  if (capture->invalid) return keep(hipErrorStreamCaptureInvalidated);
  stream->last = {capture->graph->add(std::move(work), std::move(stream->last))};
  return hipSuccess;
}

}  // namespace mla::hip_runtime

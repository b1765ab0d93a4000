// Owns: streams, events, and the capture of streams. Private to hip_runtime.
//
// What is done on a stream is done when the call returns, so that streams and events hold nothing
// but their flags, and during a capture the nodes that come before what is asked for next.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "hip_backend/hip_runtime/clock.hpp"
#include "hip_backend/hip_runtime/graph.hpp"

struct ihipStream_t;

namespace mla::hip_runtime {

struct Capture {
  hipStream_t origin = nullptr;
  hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
  std::thread::id thread;
  std::uint64_t id = 0;
  bool invalid = false;
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
};

// Those under way hold the captures; streams and events forget one that has ended.
std::vector<std::shared_ptr<Capture>>& captures();
// Nothing for a stream that is not captured.
std::shared_ptr<Capture> capture_of(hipStream_t stream);
void end(const std::shared_ptr<Capture>& capture);
hipStreamCaptureMode& thread_mode();  // hipThreadExchangeStreamCaptureMode()

// Null for the stream without a name: hipStreamDefault, hipStreamPerThread, hipStreamLegacy.
ihipStream_t* named(hipStream_t stream);
StreamOrder* order_of(hipStream_t stream);  // the same

// Refuses a call that waits for the device, or that allocates, while a capture of this thread, or
// of any thread in global mode, is under way.
hipError_t refuse_while_capturing(const char* call);
// Refuses what is done on the stream without a name while a stream that waits for it is captured;
// that capture is lost.
hipError_t refuse_without_stream(const char* call);

// Refuses a wait for a stream or an event that is being captured: nothing happens before the
// launch.
hipError_t refuse_wait(const char* call, const std::shared_ptr<Capture>& capture);

// Does it now, or adds it to the graph into which the stream is captured.
hipError_t submit(hipStream_t stream, Work work);

}  // namespace mla::hip_runtime

struct ihipStream_t {
  unsigned flags = hipStreamDefault;
  int priority = 0;
  std::vector<std::uint32_t> units;  // of hipExtStreamCreateWithCUMask()
  std::weak_ptr<mla::hip_runtime::Capture> capture;
  std::vector<const mla::hip_runtime::Node*> last = {};  // what the next node waits for
  mla::hip_runtime::StreamOrder order = {};
};

struct ihipEvent_t {
  std::chrono::steady_clock::time_point at{};
  bool recorded = false, timed = true;
  std::weak_ptr<mla::hip_runtime::Capture> capture;  // in which it was recorded
  std::vector<const mla::hip_runtime::Node*> after;
  mla::hip_runtime::Clock clock;  // of what the stream had been given when it was recorded
};

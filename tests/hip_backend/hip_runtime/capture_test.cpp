// Streams that are captured into graphs.
#include <memory>
#include <thread>

#include "device_word.hpp"

namespace hip = mla::hip_runtime;
using hip_program::DeviceWord;

namespace {

// A stream that waits for nothing but itself, and one that the stream without a name waits for.
struct Stream {
  explicit Stream(unsigned flags = hipStreamNonBlocking) {
    REQUIRE(hipStreamCreateWithFlags(&handle, flags) == hipSuccess);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { (void)hipStreamDestroy(handle); }
  hipStream_t handle = nullptr;
};

hipStreamCaptureStatus status_of(const Stream& stream) {
  hipStreamCaptureStatus status{};
  REQUIRE(hipStreamIsCapturing(stream.handle, &status) == hipSuccess);
  return status;
}

void begin(const Stream& stream, hipStreamCaptureMode mode = hipStreamCaptureModeGlobal) {
  REQUIRE(hipStreamBeginCapture(stream.handle, mode) == hipSuccess);
}

hipGraphExec_t instantiated(hipGraph_t graph) {
  hipGraphExec_t out = nullptr;
  REQUIRE(hipGraphInstantiate(&out, graph, nullptr, nullptr, 0) == hipSuccess);
  REQUIRE(hipGraphDestroy(graph) == hipSuccess);
  return out;
}

hipGraphExec_t ended(const Stream& stream) {
  hipGraph_t graph = nullptr;
  REQUIRE(hipStreamEndCapture(stream.handle, &graph) == hipSuccess);
  return instantiated(graph);
}

std::string fault_of(hipError_t got, hipError_t expected) {
  CHECK(got == expected);
  (void)hipGetLastError();
  const auto faults = hip::take_launched().faults;
  REQUIRE(faults.size() == 1);
  return faults.front();
}

}  // namespace

TEST_CASE("what is asked of a captured stream is done at each launch of the graph, in its order") {
  const Stream stream;
  DeviceWord word;
  std::int32_t host = 3, seen = -1;
  begin(stream);
  CHECK(status_of(stream) == hipStreamCaptureStatusActive);
  REQUIRE(hipMemcpyAsync(word.address(), &host, 4, hipMemcpyHostToDevice, stream.handle) ==
          hipSuccess);
  REQUIRE(word.step(10, 1, stream.handle) == hipSuccess);
  REQUIRE(word.step(2, 0, stream.handle) == hipSuccess);
  REQUIRE(hipMemcpyAsync(&seen, word.address(), 4, hipMemcpyDeviceToHost, stream.handle) ==
          hipSuccess);
  REQUIRE(hipMemsetAsync(word.address(), 0, 4, stream.handle) == hipSuccess);
  const hipGraphExec_t graph = ended(stream);
  CHECK(status_of(stream) == hipStreamCaptureStatusNone);
  CHECK(seen == -1);  // nothing was done yet
  REQUIRE(hipGraphLaunch(graph, stream.handle) == hipSuccess);
  CHECK(seen == 62);
  host = 5;  // a copy reads the host at the launch
  REQUIRE(hipGraphLaunch(graph, stream.handle) == hipSuccess);
  CHECK(seen == 102);
  CHECK(word.value() == 0);
  REQUIRE(hipGraphExecDestroy(graph) == hipSuccess);
}

TEST_CASE("a graph has the arguments of its kernels as they were at the capture") {
  const Stream stream;
  DeviceWord word;
  begin(stream);
  std::int32_t* address = word.address();
  std::int32_t factor = 1, addend = 7;
  void* arguments[] = {&address, &factor, &addend};
  REQUIRE(hipLaunchKernel(hip_program::step_word(), 1, 1, arguments, 0, stream.handle) ==
          hipSuccess);
  addend = 100;
  const hipGraphExec_t graph = ended(stream);
  for (int k = 0; k < 3; ++k) REQUIRE(hipGraphLaunch(graph, nullptr) == hipSuccess);
  CHECK(word.value() == 21);
  REQUIRE(hipGraphExecDestroy(graph) == hipSuccess);
}

TEST_CASE("a stream that waits for an event of a capture joins it, and has to be joined back") {
  const Stream main, side;
  DeviceWord word;
  hipEvent_t fork = nullptr, join = nullptr;
  REQUIRE(hipEventCreate(&fork) == hipSuccess);
  REQUIRE(hipEventCreate(&join) == hipSuccess);
  const auto capture = [&](bool back) {
    begin(main);
    REQUIRE(word.step(0, 2, main.handle) == hipSuccess);
    REQUIRE(hipEventRecord(fork, main.handle) == hipSuccess);
    REQUIRE(hipStreamWaitEvent(side.handle, fork) == hipSuccess);
    CHECK(status_of(side) == hipStreamCaptureStatusActive);
    REQUIRE(word.step(3, 0, side.handle) == hipSuccess);
    REQUIRE(hipEventRecord(join, side.handle) == hipSuccess);
    if (back) REQUIRE(hipStreamWaitEvent(main.handle, join) == hipSuccess);
    REQUIRE(word.step(1, 1, main.handle) == hipSuccess);
  };
  capture(true);
  REQUIRE(hipGraphExecDestroy(ended(main)) == hipSuccess);
  float milliseconds = 0;
  CHECK(hipEventElapsedTime(&milliseconds, join, join) == hipErrorInvalidHandle);
  capture(true);  // what the streams did for the first capture does not matter to another
  const hipGraphExec_t graph = ended(main);
  CHECK(status_of(side) == hipStreamCaptureStatusNone);
  REQUIRE(hipGraphLaunch(graph, nullptr) == hipSuccess);
  CHECK(word.value() == 7);
  REQUIRE(hipGraphExecDestroy(graph) == hipSuccess);
  begin(side);
  REQUIRE(word.step(1, 1, side.handle) == hipSuccess);
  REQUIRE(hipGraphExecDestroy(ended(side)) == hipSuccess);

  (void)hip::take_launched();
  capture(false);
  hipGraph_t none = nullptr;
  CHECK(fault_of(hipStreamEndCapture(main.handle, &none), hipErrorStreamCaptureUnjoined)
            .find("does not wait for its last work") != std::string::npos);
  CHECK(none == nullptr);
  CHECK(status_of(side) == hipStreamCaptureStatusNone);
  REQUIRE(hipEventDestroy(fork) == hipSuccess);
  REQUIRE(hipEventDestroy(join) == hipSuccess);
}

TEST_CASE("a wait for a captured stream, or for its event, ends the capture without a graph") {
  const Stream stream;
  DeviceWord word;
  hipEvent_t event = nullptr;
  REQUIRE(hipEventCreate(&event) == hipSuccess);
  const auto lost = [&](auto wait, hipError_t error) {
    (void)hip::take_launched();
    begin(stream);
    REQUIRE(hipEventRecord(event, stream.handle) == hipSuccess);
    const std::string sentence = fault_of(wait(), error);
    CHECK(word.step(1, 1, stream.handle) == hipErrorStreamCaptureInvalidated);
    CHECK(status_of(stream) == hipStreamCaptureStatusInvalidated);
    hipGraph_t graph = nullptr;
    CHECK(hipStreamEndCapture(stream.handle, &graph) == hipErrorStreamCaptureInvalidated);
    CHECK(graph == nullptr);
    return sentence;
  };
  const auto unsupported = hipErrorStreamCaptureUnsupported;
  CHECK(lost([&] { return hipStreamSynchronize(stream.handle); }, unsupported)
            .starts_with("hipStreamSynchronize: waits for a stream that is being captured"));
  lost([&] { return hipStreamQuery(stream.handle); }, unsupported);
  lost([&] { return hipEventSynchronize(event); }, unsupported);
  lost([&] { return hipEventQuery(event); }, unsupported);
  hipEvent_t outside = nullptr;
  REQUIRE(hipEventCreate(&outside) == hipSuccess);
  REQUIRE(hipEventRecord(outside) == hipSuccess);
  lost([&] { return hipStreamWaitEvent(stream.handle, outside); }, hipErrorStreamCaptureIsolation);
  REQUIRE(hipEventDestroy(event) == hipSuccess);
  REQUIRE(hipEventDestroy(outside) == hipSuccess);
}

TEST_CASE("work without a stream ends the capture of a stream that would wait for it, no other") {
  DeviceWord word;
  const Stream apart, blocking(hipStreamDefault);
  begin(apart);
  REQUIRE(word.step(1, 1, nullptr) == hipSuccess);
  CHECK(status_of(apart) == hipStreamCaptureStatusActive);
  REQUIRE(hipGraphExecDestroy(ended(apart)) == hipSuccess);

  (void)hip::take_launched();
  begin(blocking);
  fault_of(word.step(1, 1, nullptr), hipErrorStreamCaptureImplicit);
  CHECK(status_of(blocking) == hipStreamCaptureStatusInvalidated);
  hipGraph_t graph = nullptr;
  CHECK(hipStreamEndCapture(blocking.handle, &graph) == hipErrorStreamCaptureInvalidated);
  CHECK(word.value() == 1);
}

TEST_CASE("memory is not allocated during a capture, unless its mode allows it to this thread") {
  const Stream stream;
  void* pointer = nullptr;
  using Mode = hipStreamCaptureMode;
  const auto allowed = [&](Mode mode, bool here) {
    begin(stream, mode);
    hipError_t error{};
    const auto allocate = [&] { error = hipMalloc(&pointer, 16); };
    if (here) allocate();
    if (!here) std::thread(allocate).join();
    hipGraph_t graph = nullptr;
    REQUIRE(hipStreamEndCapture(stream.handle, &graph) == hipSuccess);
    REQUIRE(hipGraphDestroy(graph) == hipSuccess);
    if (error == hipSuccess) REQUIRE(hipFree(pointer) == hipSuccess);
    (void)hip::take_launched();
    return error == hipSuccess;
  };
  CHECK_FALSE(allowed(hipStreamCaptureModeGlobal, true));
  CHECK_FALSE(allowed(hipStreamCaptureModeGlobal, false));
  CHECK_FALSE(allowed(hipStreamCaptureModeThreadLocal, true));
  CHECK(allowed(hipStreamCaptureModeThreadLocal, false));
  CHECK(allowed(hipStreamCaptureModeRelaxed, true));
  Mode mode = hipStreamCaptureModeRelaxed;
  REQUIRE(hipThreadExchangeStreamCaptureMode(&mode) == hipSuccess);
  CHECK(mode == hipStreamCaptureModeGlobal);
  CHECK(allowed(hipStreamCaptureModeGlobal, true));
  REQUIRE(hipThreadExchangeStreamCaptureMode(&mode) == hipSuccess);
  CHECK(mode == hipStreamCaptureModeRelaxed);
}

TEST_CASE("a capture begins once, on a stream with a name, and ends where it began") {
  const Stream stream, other;
  (void)hip::take_launched();
  hipGraph_t graph = nullptr;
  fault_of(hipStreamBeginCapture(nullptr, hipStreamCaptureModeGlobal),
           hipErrorStreamCaptureUnsupported);
  CHECK(hipStreamEndCapture(stream.handle, &graph) == hipErrorIllegalState);
  begin(stream, hipStreamCaptureModeThreadLocal);
  CHECK(hipStreamBeginCapture(stream.handle, hipStreamCaptureModeGlobal) == hipErrorIllegalState);
  hipError_t elsewhere{};
  std::thread([&] { elsewhere = hipStreamEndCapture(stream.handle, &graph); }).join();
  CHECK(elsewhere == hipErrorStreamCaptureWrongThread);
  hipEvent_t event = nullptr;
  REQUIRE(hipEventCreate(&event) == hipSuccess);
  REQUIRE(hipEventRecord(event, stream.handle) == hipSuccess);
  REQUIRE(hipStreamWaitEvent(other.handle, event) == hipSuccess);
  CHECK(hipStreamEndCapture(other.handle, &graph) == hipErrorStreamCaptureUnmatched);
  REQUIRE(hipStreamEndCapture(stream.handle, &graph) == hipSuccess);
  REQUIRE(hipGraphDestroy(graph) == hipSuccess);
  REQUIRE(hipEventDestroy(event) == hipSuccess);
  CHECK(hipStreamBeginCapture(stream.handle, static_cast<hipStreamCaptureMode>(3)) ==
        hipErrorInvalidValue);
}

TEST_CASE("a graph whose kernel's module was unloaded is refused at its launch, and names it") {
  const Stream stream;
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  REQUIRE(hipModuleLoad(&module, MLA_PROGRAM) == hipSuccess);
  REQUIRE(hipModuleGetFunction(&function, module, "count_blocks_kernel") == hipSuccess);
  begin(stream);
  REQUIRE(hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream.handle, nullptr, nullptr) ==
          hipSuccess);
  const hipGraphExec_t graph = ended(stream);
  REQUIRE(hipGraphLaunch(graph, nullptr) == hipSuccess);
  REQUIRE(hipModuleUnload(module) == hipSuccess);
  (void)hip::take_launched();
  CHECK(fault_of(hipGraphLaunch(graph, nullptr), hipErrorInvalidHandle) ==
        "a graph launches count_blocks_kernel, whose module was unloaded");
  REQUIRE(hipGraphExecDestroy(graph) == hipSuccess);
}

TEST_CASE("a captured stream that is destroyed takes its capture with it") {
  auto stream = std::make_unique<Stream>(hipStreamDefault);
  DeviceWord word;
  begin(*stream);
  stream.reset();
  CHECK(word.step(1, 1, nullptr) == hipSuccess);
  CHECK(word.value() == 1);
}

TEST_CASE("a graph that is launched on a captured stream becomes a part of it, as it was then") {
  const Stream stream;
  DeviceWord word;
  begin(stream);
  REQUIRE(word.step(1, 3, stream.handle) == hipSuccess);
  const hipGraphExec_t inner = ended(stream);
  begin(stream);
  REQUIRE(hipGraphLaunch(inner, stream.handle) == hipSuccess);
  REQUIRE(word.step(10, 0, stream.handle) == hipSuccess);
  CHECK(word.value() == 0);
  const hipGraphExec_t outer = ended(stream);
  REQUIRE(hipGraphExecDestroy(inner) == hipSuccess);
  REQUIRE(hipGraphLaunch(outer, nullptr) == hipSuccess);
  CHECK(word.value() == 30);
  REQUIRE(hipGraphExecDestroy(outer) == hipSuccess);
}

// The check `streams` on HIP programs: works that touch the same memory, and what orders them.
#include "streams.hpp"

#include <string>
#include <vector>

#include "hip_backend/hip_runtime/order.hpp"
#include "hip_backend/hip_runtime/runtime.hpp"
#include "own_process.hpp"
#include "tests/catch.hpp"

namespace hip = mla::hip_runtime;
using namespace hip_program;

namespace {

// Two streams that the one without a name does not wait for, one that it does, and words.
struct Streams {
  Streams() {
    hip::set_device({.options = {}, .stream_races = true});
    (void)hip::take_launched();
    REQUIRE(hipStreamCreateWithFlags(&a, hipStreamNonBlocking) == hipSuccess);
    REQUIRE(hipStreamCreateWithFlags(&b, hipStreamNonBlocking) == hipSuccess);
    REQUIRE(hipStreamCreate(&blocking) == hipSuccess);
    REQUIRE(hipEventCreate(&event) == hipSuccess);
    REQUIRE(hipMalloc(reinterpret_cast<void**>(&words), bytes) == hipSuccess);
    REQUIRE(hipMemset(words, 0, bytes) == hipSuccess);
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  ~Streams() {
    for (const hipStream_t stream : {a, b, blocking}) (void)hipStreamDestroy(stream);
    (void)hipEventDestroy(event);
    (void)hipFree(words);
    hip::set_device({});
    (void)hip::take_launched();
  }
  void write(hipStream_t stream) const { launch_step(words, words + 1, stream); }
  void read(hipStream_t stream) const { launch_step(words + 1, words + 2, stream); }

  static constexpr std::size_t bytes = 3 * 4096;
  hipStream_t a = nullptr, b = nullptr, blocking = nullptr;
  hipEvent_t event = nullptr;
  std::int32_t* words = nullptr;
};

// What was found since the last call.
std::vector<std::string> found() {
  const auto launched = hip::take_launched();
  REQUIRE(launched.faults.empty());
  return launched.findings;
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("works on two streams race unless an event between them orders them") {
  const Streams s;
  s.write(s.a);
  s.read(s.b);
  const auto race = found();
  REQUIRE(race.size() == 1);
  CHECK(race[0].starts_with("global-race: workgroup (0,0,0) wave 0"));
  CHECK(has(race[0], "the dword was written by kernel '"));
  CHECK(has(race[0], "and no event, wait or edge of a graph orders the two"));

  s.write(s.a);  // after the read of b
  CHECK(found().size() == 1);
  REQUIRE(hipDeviceSynchronize() == hipSuccess);

  s.write(s.a);
  REQUIRE(hipEventRecord(s.event, s.a) == hipSuccess);
  REQUIRE(hipStreamWaitEvent(s.b, s.event, 0) == hipSuccess);
  s.read(s.b);
  s.read(s.b);
  CHECK(found().empty());
}

TEST_CASE("a stream that waits for a value comes after the stream that wrote it") {
  const Streams s;
  std::int32_t* const flag = s.words + 1024;
  s.write(s.a);
  REQUIRE(hipStreamWriteValue32(s.a, flag, 1, 0) == hipSuccess);
  REQUIRE(hipStreamWaitValue32(s.b, flag, 1, hipStreamWaitValueEq, 0xffffffff) == hipSuccess);
  s.read(s.b);
  CHECK(found().empty());

  s.write(s.a);  // after the read of b, which nothing told a
  CHECK(found().size() == 1);
}

TEST_CASE("an event that was recorded too early orders nothing") {
  const Streams s;
  REQUIRE(hipEventRecord(s.event, s.a) == hipSuccess);
  s.write(s.a);
  REQUIRE(hipStreamWaitEvent(s.b, s.event, 0) == hipSuccess);
  s.read(s.b);
  CHECK(found().size() == 1);
}

TEST_CASE("what the host waited for comes before what it asks for next") {
  const Streams s;
  const auto races_after = [&](auto wait) {
    REQUIRE(hipDeviceSynchronize() == hipSuccess);
    s.write(s.a);
    REQUIRE(hipEventRecord(s.event, s.a) == hipSuccess);
    wait();
    s.read(s.b);
    return !found().empty();
  };
  CHECK(races_after([] {}));
  CHECK(races_after([&] { (void)hipStreamSynchronize(s.b); }));
  CHECK_FALSE(races_after([&] { (void)hipStreamSynchronize(s.a); }));
  CHECK_FALSE(races_after([&] { (void)hipStreamQuery(s.a); }));
  CHECK_FALSE(races_after([&] { (void)hipEventSynchronize(s.event); }));
  CHECK_FALSE(races_after([&] { (void)hipEventQuery(s.event); }));
  CHECK_FALSE(races_after([] { (void)hipDeviceSynchronize(); }));
  CHECK_FALSE(races_after([] {
    void* other = nullptr;
    (void)hipMalloc(&other, 4);
    (void)hipFree(other);
  }));
  CHECK_FALSE(races_after([&] {
    std::int32_t here = 0;  // memory that HIP does not know: the call waits
    (void)hipMemcpyAsync(&here, s.words + 1, 4, hipMemcpyDeviceToHost, s.a);
  }));
}

TEST_CASE("the stream without a name waits for streams, and they for it, but for some") {
  const Streams s;
  s.write(s.blocking);
  s.read(nullptr);
  s.write(nullptr);
  s.read(s.blocking);
  CHECK(found().empty());
  s.write(nullptr);
  s.read(s.a);
  CHECK(found().size() == 2);  // what it reads, and what it writes
}

TEST_CASE("copies and fills race too, and pages that they touch as a whole") {
  const Streams s;
  std::vector<char> host(Streams::bytes);
  launch_step(s.words + 1020, s.words + 1021, s.a);
  s.write(s.a);
  REQUIRE(hipMemsetAsync(s.words, 0, Streams::bytes, s.b) == hipSuccess);
  const auto fill = found();
  REQUIRE(fill.size() == 1);
  CHECK(has(fill[0], "global-race: the dword was "));
  CHECK(has(fill[0], "this is hipMemset of 12288 bytes on stream "));

  // A page of which only fills were seen.
  launch_step(s.words + 2040, s.words + 2041, s.a);
  CHECK(found().size() == 2);  // a word that it reads, and one that it writes
  // One of which a kernel had touched single words.
  launch_step(s.words + 1020, s.words + 1021, s.a);
  CHECK(found().size() == 2);
  REQUIRE(hipDeviceSynchronize() == hipSuccess);
  REQUIRE(hipMemsetAsync(s.words, 0, Streams::bytes, s.a) == hipSuccess);
  REQUIRE(hipMemcpy(host.data(), s.words, Streams::bytes, hipMemcpyDeviceToHost) == hipSuccess);
  CHECK(found().size() == 1);
  REQUIRE(hipStreamSynchronize(s.a) == hipSuccess);
  REQUIRE(hipMemcpy(host.data(), s.words, Streams::bytes, hipMemcpyDeviceToHost) == hipSuccess);
  CHECK(found().empty());
}

TEST_CASE("readers do not race, whoever writes comes after all of them") {
  const Streams s;
  launch_step(s.words + 1, s.words + 2, s.a);
  launch_step(s.words + 1, s.words + 3, s.b);
  CHECK(found().empty());
  REQUIRE(hipEventRecord(s.event, s.b) == hipSuccess);
  REQUIRE(hipStreamWaitEvent(s.blocking, s.event, 0) == hipSuccess);
  s.write(s.blocking);
  CHECK(found().size() == 1);  // with the reader on a
}

TEST_CASE("bytes of one dword are apart") {
  const Streams s;
  auto* const bytes = reinterpret_cast<std::uint8_t*>(s.words);
  launch_put_byte(bytes, 1, s.a);
  launch_put_byte(bytes + 1, 2, s.b);
  CHECK(found().empty());
  launch_put_byte(bytes, 3, s.b);
  const auto race = found();
  REQUIRE(race.size() == 1);
  CHECK(has(race[0], "the byte was written by"));
}

TEST_CASE("atomics do not race with each other, and order what stands around them") {
  const Streams s;
  launch_count(s.words, s.a);
  launch_count(s.words, s.b);
  CHECK(found().empty());
  launch_step(s.words, s.words + 1, s.a);
  CHECK(found().size() == 1);

  launch_hand_out(s.words + 8, s.words + 9, s.a);
  launch_take(s.words + 9, s.words + 8, s.words + 10, s.b);
  CHECK(found().empty());
}

TEST_CASE("branches of a graph race, and so do two graphs, but not launches of the same one") {
  const Streams s;
  const auto captured = [&](bool joined) {
    hipGraph_t graph = nullptr;
    hipGraphExec_t out = nullptr;
    hipEvent_t end = nullptr;
    REQUIRE(hipEventCreate(&end) == hipSuccess);
    REQUIRE(hipStreamBeginCapture(s.a, hipStreamCaptureModeGlobal) == hipSuccess);
    if (joined) s.write(s.a);
    REQUIRE(hipEventRecord(s.event, s.a) == hipSuccess);
    REQUIRE(hipStreamWaitEvent(s.b, s.event, 0) == hipSuccess);
    if (!joined) s.write(s.a);
    s.read(s.b);
    REQUIRE(hipEventRecord(end, s.b) == hipSuccess);
    REQUIRE(hipStreamWaitEvent(s.a, end, 0) == hipSuccess);
    REQUIRE(hipStreamEndCapture(s.a, &graph) == hipSuccess);
    REQUIRE(hipGraphInstantiate(&out, graph, nullptr, nullptr, 0) == hipSuccess);
    return out;
  };
  const hipGraphExec_t apart = captured(false), joined = captured(true), other = captured(true);
  REQUIRE(hipGraphLaunch(apart, s.a) == hipSuccess);
  const auto race = found();
  REQUIRE(race.size() == 1);
  CHECK(has(race[0], "in a graph launched on stream "));
  REQUIRE(hipDeviceSynchronize() == hipSuccess);

  REQUIRE(hipGraphLaunch(joined, s.a) == hipSuccess);
  REQUIRE(hipGraphLaunch(joined, s.b) == hipSuccess);
  s.read(s.b);
  CHECK(found().empty());
  REQUIRE(hipGraphLaunch(other, s.blocking) == hipSuccess);
  CHECK(!found().empty());
}

TEST_CASE("branches of a graph that fork from one node race") {
  const Streams s;
  hipGraph_t graph = nullptr;
  hipGraphExec_t executable = nullptr;
  REQUIRE(hipStreamBeginCapture(s.a, hipStreamCaptureModeGlobal) == hipSuccess);
  launch_step(s.words + 8, s.words + 9, s.a);
  REQUIRE(hipEventRecord(s.event, s.a) == hipSuccess);
  REQUIRE(hipStreamWaitEvent(s.b, s.event, 0) == hipSuccess);
  s.write(s.a);
  s.read(s.b);
  REQUIRE(hipEventRecord(s.event, s.b) == hipSuccess);
  REQUIRE(hipStreamWaitEvent(s.a, s.event, 0) == hipSuccess);
  REQUIRE(hipStreamEndCapture(s.a, &graph) == hipSuccess);
  REQUIRE(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0) == hipSuccess);
  REQUIRE(hipGraphLaunch(executable, s.a) == hipSuccess);
  CHECK(found().size() == 1);
}

TEST_CASE("a line of works is used again after all that it had, and not before") {
  hip::Order order;
  const hip::Clock nothing;
  const hip::Line first = order.line_after(nothing);
  order.step(first, nothing);
  const hip::Clock after = order.now();
  order.give_back(first);
  CHECK(order.line_after(nothing) != first);
  CHECK(order.line_after(after) == first);
  CHECK(order.line_after(after) != first);
}

TEST_CASE("launches of one graph, and streams that end, take no more lines each time") {
  const Streams s;
  hipGraph_t graph = nullptr;
  hipGraphExec_t executable = nullptr;
  REQUIRE(hipStreamBeginCapture(s.a, hipStreamCaptureModeGlobal) == hipSuccess);
  REQUIRE(hipEventRecord(s.event, s.a) == hipSuccess);
  REQUIRE(hipStreamWaitEvent(s.b, s.event, 0) == hipSuccess);
  s.write(s.a);
  launch_count(s.words + 8, s.b);
  REQUIRE(hipEventRecord(s.event, s.b) == hipSuccess);
  REQUIRE(hipStreamWaitEvent(s.a, s.event, 0) == hipSuccess);
  REQUIRE(hipStreamEndCapture(s.a, &graph) == hipSuccess);
  REQUIRE(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0) == hipSuccess);
  std::size_t lines = 0;
  for (unsigned k = 0; k < 20; ++k) {
    hipStream_t stream = nullptr;
    REQUIRE(hipGraphLaunch(executable, k % 2 == 0 ? s.a : s.b) == hipSuccess);
    REQUIRE(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) == hipSuccess);
    launch_count(s.words + 16 + k, stream);
    REQUIRE(hipStreamSynchronize(stream) == hipSuccess);
    REQUIRE(hipStreamDestroy(stream) == hipSuccess);
    if (k == 1) lines = hip::order().lines();
  }
  CHECK(hip::order().lines() == lines);
  CHECK(found().empty());
}

TEST_CASE("memory that is given back is nobody's, and is not given back under a kernel") {
  const Streams s;
  std::int32_t* word = nullptr;
  for (int k = 0; k < 8; ++k) {  // the same address, most likely
    REQUIRE(hipMallocAsync(reinterpret_cast<void**>(&word), 64, s.a) == hipSuccess);
    launch_step(s.words, word, (k & 1) != 0 ? s.a : s.b);
    REQUIRE(hipFreeAsync(word, (k & 1) != 0 ? s.a : s.b) == hipSuccess);
  }
  CHECK(found().empty());
  REQUIRE(hipMallocAsync(reinterpret_cast<void**>(&word), 64, s.a) == hipSuccess);
  launch_step(s.words, word, s.a);
  REQUIRE(hipFreeAsync(word, s.b) == hipSuccess);
  const auto race = found();
  REQUIRE(race.size() == 1);
  CHECK(has(race[0], "this is hipFreeAsync of 64 bytes on stream "));
}

TEST_CASE("what kernels print is no race") {
  const Streams s;
  launch_print(s.a);
  launch_print(s.b);
  CHECK(found().empty());
}

// Run by the next one in a process of its own; hidden.
TEST_CASE("two streams without an event", "[.]") {
  hipStream_t other = nullptr;
  std::int32_t* words = nullptr;
  REQUIRE(hipStreamCreateWithFlags(&other, hipStreamNonBlocking) == hipSuccess);
  REQUIRE(hipMalloc(reinterpret_cast<void**>(&words), 64) == hipSuccess);
  REQUIRE(hipMemset(words, 0, 64) == hipSuccess);
  launch_step(words, words + 1, other);
  launch_step(words + 1, words + 2, nullptr);
}

TEST_CASE("MLA_HIP_CHECKS looks at streams with 1, and with their word") {
  const auto said = [](const std::string& value) {
    return has(said_with("MLA_HIP_CHECKS=" + value, "two streams without an event"),
               "and no event, wait or edge of a graph orders the two");
  };
  CHECK(said("1"));
  CHECK(said("streams"));
  CHECK(said("waits,streams"));
  CHECK_FALSE(said("waits"));
  CHECK_FALSE(said("0"));
}

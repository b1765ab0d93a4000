// Claims about devices that need no GPU: names, the null device, buffers, graphs of an emulated
// one.
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hip_backend/device/emulated_device.hpp"
#include "hip_backend/device/null_device.hpp"
#include "hip_backend/device/open_device.hpp"
#include "hip_backend/device/resources.hpp"
#include "hip_backend/hip_backend.hpp"
#include "tests/catch.hpp"

using namespace mla;
using namespace mla::hip;

TEST_CASE("devices: a name that is none is an error of usage", "[hip]") {
  for (const char* name : {"", "hip", "hip:", "hip:x", "nvidia:-1", "emulated:gfx90a", "cuda:0"}) {
    const auto device = open_device(name);
    INFO(name);
    REQUIRE_FALSE(device.ok());
    CHECK(device.error().code == ErrorCode::usage);
  }
}

TEST_CASE("devices: without a runtime or a GPU the answer says so and nothing crashes", "[hip]") {
  for (const char* name : {"hip:63", "nvidia:63"}) {
    const auto device = open_device(name);
    REQUIRE_FALSE(device.ok());
    CHECK(device.error().code == ErrorCode::fault);
    CHECK(device.error().message.substr(0, 3) == "no ");
  }
  CHECK(open_device("auto").ok());
}

TEST_CASE("devices: the null device gives its reason at every call", "[hip]") {
  const auto device = make_null_device("there is nothing here");
  CHECK(device->allocate(16).error().message == "there is nothing here");
  CHECK(device->make_stream().error().message == "there is nothing here");
  CHECK(device->recover()->message == "there is nothing here");
  const auto backend = make_hip_backend(make_null_device("nothing"), {});
  const Support support = backend->supports(ResolvedShape{});
  CHECK_FALSE(support.ok);
  CHECK(support.reason.find("device null") != std::string::npos);
}

TEST_CASE("buffers: unwritten memory is poison, and a write past an end damages a canary",
          "[hip]") {
  const auto device = make_emulated_device(Arch::gfx942, {});
  auto buffer = Buffer::poisoned(*device, "the test buffer", 64);
  REQUIRE(buffer.ok());
  const auto words = buffer->read_all<std::uint32_t>();
  REQUIRE(words.ok());
  REQUIRE(words->size() == 16);
  for (const std::uint32_t word : *words) CHECK(word == kPoisonWord);
  auto other = Buffer::poisoned(*device, "the other", 8);
  REQUIRE(other.ok());
  const std::byte stray[1] = {std::byte{1}};
  auto without = Buffer::holding(*device, "the one without a canary after it", stray, 0);
  REQUIRE(without.ok());
  std::vector<Buffer> buffers;
  for (auto* b : {&buffer, &without, &other}) buffers.push_back(std::move(**b));
  CHECK(Buffer::damaged(buffers).empty());
  CHECK_FALSE(device->copy_in(buffers[0].address() + 64, stray));
  CHECK_FALSE(device->copy_in(buffers[2].address() - 1, stray));
  CHECK(Buffer::damaged(buffers) ==
        std::vector<std::string>{"the canary after the test buffer is damaged",
                                 "the canary before the other is damaged"});
  CHECK_FALSE(device->copy_in(buffers[1].address() - kCanaryBytes, stray));
  CHECK(Buffer::damaged(std::span(buffers).subspan(1, 1)) ==
        std::vector<std::string>{"the canary before the one without a canary after it is damaged"});
  CHECK(Buffer::damaged({}).empty());
}

TEST_CASE("buffers: they move, and give their memory back once", "[hip]") {
  const auto device = make_emulated_device(Arch::gfx950, {});
  Address address = 0;
  {
    auto first = Buffer::poisoned(*device, "moved", 32);
    REQUIRE(first.ok());
    const Buffer second = std::move(*first);
    address = second.address();
    CHECK(Buffer::damaged({&second, 1}).empty());
  }
  std::byte bytes[4];
  CHECK(device->copy_out(address, bytes).has_value());
}

TEST_CASE("graphs: a captured copy runs at each replay and not before", "[hip]") {
  const auto device = make_emulated_device(Arch::gfx950, {});
  const auto stream = make_stream(*device);
  REQUIRE(stream.ok());
  const auto from = Buffer::filled(*device, "from", 16, 7);
  const auto to = Buffer::filled(*device, "to", 16, 0);
  REQUIRE_FALSE(device->begin_capture(stream->get()));
  REQUIRE_FALSE(device->copy_on(stream->get(), to->address(), from->address(), 16));
  const auto handle = device->end_capture(stream->get());
  REQUIRE(handle.ok());
  const Graph graph(*device, *handle);
  CHECK(to->read_all<std::uint32_t>().value()[3] == 0);
  for (const std::uint32_t word : {7U, 8U}) {
    REQUIRE_FALSE(from->refill(word));
    REQUIRE_FALSE(device->replay(stream->get(), graph.get()));
    CHECK(to->read_all<std::uint32_t>().value()[3] == word);
  }
}

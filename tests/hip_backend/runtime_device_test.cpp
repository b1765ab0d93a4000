// A device that a runtime drives, here one of the test: which calls reach it.
#include "hip_backend/device/runtime_device.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "tests/catch.hpp"
#include "tests/hip_backend/quiet_runtime.hpp"

namespace mla::hip {
namespace {

constexpr std::int64_t kRoom = std::int64_t{3} << 30;

// What the runtime of the test was asked for. Its memory is numbers.
struct Calls {
  std::uint64_t next = 0x1000;
  std::map<std::uint64_t, std::size_t> memory;
  std::size_t used = 0;
  int allocations = 0;
  int waits = 0;
};
Calls calls;

int allocate(std::uint64_t* address, std::size_t bytes) {
  if (calls.used + bytes > static_cast<std::size_t>(kRoom)) return 2;
  ++calls.allocations;
  *address = calls.next++;
  calls.memory[*address] = bytes;
  calls.used += bytes;
  return 0;
}
int release(std::uint64_t address) {
  calls.used -= calls.memory.at(address);
  calls.memory.erase(address);
  return 0;
}

std::unique_ptr<Device> device() {
  calls = {};
  RuntimeApi api = test::quiet_runtime(Platform::amd);
  api.reset_device = [] {
    calls.memory.clear();
    calls.used = 0;
    return 0;
  };
  api.device_synchronize = [] {
    ++calls.waits;
    return 0;
  };
  api.allocate = allocate;
  api.release = release;
  auto opened = open_runtime_device(std::move(api), 0);
  REQUIRE(opened.ok());
  return std::move(*opened);
}

}  // namespace

TEST_CASE("runtime device: memory that was given back serves the next allocation of its size",
          "[hip]") {
  const auto gpu = device();
  const Address first = *gpu->allocate(96);
  gpu->release(first);
  CHECK(*gpu->allocate(96) == first);
  CHECK(*gpu->allocate(96) != first);
  CHECK(*gpu->allocate(100) != first);
  CHECK(calls.allocations == 3);
}

TEST_CASE("runtime device: more than 1 GiB that was given back goes to the runtime", "[hip]") {
  const auto gpu = device();
  const Address small = *gpu->allocate(std::int64_t{1} << 29);
  const Address large = *gpu->allocate((std::int64_t{1} << 29) + 4);
  gpu->release(small);
  CHECK(calls.memory.size() == 2);
  gpu->release(large);
  CHECK(calls.memory.empty());
  gpu->release(large);
  CHECK(calls.memory.empty());
}

TEST_CASE("runtime device: where the runtime has no memory left, what was given back goes to it",
          "[hip]") {
  const auto gpu = device();
  gpu->release(*gpu->allocate(std::int64_t{1} << 20));
  REQUIRE(gpu->allocate(kRoom).ok());
  CHECK_FALSE(gpu->allocate(4).ok());
}

TEST_CASE("runtime device: after a fault no memory of before is handed out", "[hip]") {
  const auto gpu = device();
  const Address before = *gpu->allocate(96);
  gpu->release(before);
  REQUIRE_FALSE(gpu->recover());
  CHECK(*gpu->allocate(96) != before);
}

TEST_CASE("runtime device: all memory is given back", "[hip]") {
  auto gpu = device();
  gpu->release(*gpu->allocate(96));
  gpu.reset();
  CHECK(calls.memory.empty());
}

TEST_CASE(
    "runtime device: work on a stream waits once for fills and copies before it, and work on "
    "the default stream does not",
    "[hip]") {
  const auto gpu = device();
  const StreamHandle other{5};
  const std::byte byte{};
  const auto queue = [&] {
    REQUIRE_FALSE(gpu->fill(0x1000, 1, 4));
    REQUIRE_FALSE(gpu->copy_in(0x1000, {&byte, 1}));
    calls.waits = 0;
  };
  queue();
  REQUIRE_FALSE(gpu->launch({}, {}, {}, {}));
  CHECK(calls.waits == 0);
  REQUIRE_FALSE(gpu->launch(other, {}, {}, {}));
  REQUIRE_FALSE(gpu->launch(other, {}, {}, {}));
  CHECK(calls.waits == 1);
  queue();
  REQUIRE_FALSE(gpu->copy_on(other, 0x1000, 0x1001, 1));
  CHECK(calls.waits == 1);
  queue();
  REQUIRE_FALSE(gpu->begin_capture(other));
  CHECK(calls.waits == 1);
  queue();
  REQUIRE_FALSE(gpu->replay(other, {}));
  CHECK(calls.waits == 1);
  queue();
  REQUIRE_FALSE(gpu->synchronize({}));
  REQUIRE_FALSE(gpu->launch(other, {}, {}, {}));
  CHECK(calls.waits == 0);
  REQUIRE_FALSE(gpu->copy_in(0x1000, {&byte, 1}));
  REQUIRE_FALSE(gpu->launch(other, {}, {}, {}));
  CHECK(calls.waits == 1);
}

}  // namespace mla::hip

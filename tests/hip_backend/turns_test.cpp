// Threads that share a GPU: with a runtime of our own, and a device that asks who has a turn.
#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "hip_backend/device/emulated_device.hpp"
#include "hip_backend/device/kernel_launch.hpp"
#include "hip_backend/device/runtime_device.hpp"
#include "hip_backend/hip_backend.hpp"
#include "properties/step/prefill/run.hpp"
#include "properties/step/subject.hpp"
#include "tests/catch.hpp"
#include "tests/hip_backend/forwarding_device.hpp"
#include "tests/hip_backend/has_code.hpp"
#include "tests/hip_backend/quiet_runtime.hpp"

namespace mla::hip {
namespace {

// The thread that the device is chosen for, and calls of threads that did not choose it.
std::atomic<std::thread::id> chosen_by;
std::atomic<int> not_chosen{0};

void note_call() {
  if (chosen_by.load() != std::this_thread::get_id()) ++not_chosen;
}

int allocate_bytes(std::uint64_t* address, std::size_t bytes) {
  note_call();
  *address = reinterpret_cast<std::uint64_t>(new unsigned char[bytes]);
  return 0;
}
int release_bytes(std::uint64_t address) {
  delete[] reinterpret_cast<unsigned char*>(address);
  return 0;
}

// A runtime that has memory, and notes for which thread its device is chosen.
RuntimeApi runtime(Platform platform) {
  RuntimeApi api = test::quiet_runtime(platform);
  if (platform == Platform::amd) {
    api.set_device = [](int) {
      chosen_by = std::this_thread::get_id();
      return 0;
    };
  } else {
    api.make_context = [](void** context, unsigned, int) {
      *context = &chosen_by;
      return 0;
    };
    api.set_context = [](void* context) {
      if (context == &chosen_by) chosen_by = std::this_thread::get_id();
      return 0;
    };
  }
  api.allocate = allocate_bytes;
  api.release = release_bytes;
  api.fill = [](std::uint64_t to, unsigned word, std::size_t words) {
    note_call();
    for (std::size_t i = 0; i < words; ++i) reinterpret_cast<unsigned*>(to)[i] = word;
    return 0;
  };
  return api;
}

// Counts what happens to memory and code while no thread has a turn.
class InTurns final : public test::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  using ForwardingDevice::release;
  std::unique_lock<std::mutex> take_turn() override {
    ++turns;
    return std::unique_lock(turn_);
  }
  Result<Address> allocate(std::int64_t bytes) override {
    look();
    ++live;
    return ForwardingDevice::allocate(bytes);
  }
  void release(Address address) override {
    look();
    --live;
    ForwardingDevice::release(address);
  }
  Result<KernelHandle> find_kernel(std::span<const std::byte> code,
                                   std::string_view name) override {
    look();
    return ForwardingDevice::find_kernel(code, name);
  }

  MaybeError launch(StreamHandle stream, KernelHandle kernel, const LaunchSize& size,
                    std::span<const std::byte> arguments) override {
    if (faults) return Error{ErrorCode::fault, "an illegal access"};
    return ForwardingDevice::launch(stream, kernel, size, arguments);
  }
  MaybeError recover() override {
    look();
    ++recoveries;
    CHECK(live == 0);
    return ForwardingDevice::recover();
  }

  int turns = 0;
  int outside = 0;
  bool faults = false;  // every launch does
  int recoveries = 0;
  int live = 0;  // allocations

 private:
  void look() {
    const auto free = [this] { return std::unique_lock(turn_, std::try_to_lock).owns_lock(); };
    outside += std::async(std::launch::async, free).get() ? 1 : 0;
  }
  std::mutex turn_;
};

void threads_take_turns(Platform platform) {
  not_chosen = 0;
  std::atomic<bool> in_use{false};
  std::atomic<int> meetings{0};
  const auto device = open_runtime_device(runtime(platform), 0);
  REQUIRE(device.ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        KernelLaunch launch(**device);
        meetings += in_use.exchange(true) ? 1 : 0;
        float* to = nullptr;
        launch.output("a buffer", 16 + 4 * i + t, 0, to);
        std::this_thread::yield();
        launch.output("another", 16, 0, to);
        in_use = false;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(meetings == 0);
  CHECK(not_chosen == 0);
}

}  // namespace

TEST_CASE("Decode and prefill steps hold the device from the first allocation to the last release",
          "[hip][emulated]") {
  if (!test::has_code(Arch::gfx950, "decode") || !test::has_code(Arch::gfx950, "prefill")) return;
  auto device = std::make_shared<InTurns>(make_emulated_device(Arch::gfx950, {}));
  const auto backend = make_hip_backend(device, {});
  for (const char* line :
       {"mla1:2q2s130;cu=2;arch=gfx950", "mla1:1q70s70;heads=1;arch=gfx950;kind=prefill",
        "mla1:1q40s90;heads=1;dtype=bf16/fp8;kind=prefill;arch=gfx950"}) {
    const int before = device->turns;
    prop::Subject subject(*parse_case(line), *backend, nullptr);
    CHECK((subject.spec().kind() == StepKind::decode ? subject.result().ok()
                                                     : subject.prefill().ok()));
    CHECK(device->turns > before);
  }
  CHECK(device->outside == 0);
}

TEST_CASE("A device is recovered from a fault while its turn lasts, when nothing is on it",
          "[hip][emulated]") {
  if (!test::has_code(Arch::gfx950, "decode") || !test::has_code(Arch::gfx950, "prefill")) return;
  auto device = std::make_shared<InTurns>(make_emulated_device(Arch::gfx950, {}));
  device->faults = true;
  const auto backend = make_hip_backend(device, {});
  prop::Subject decode(*parse_case("mla1:2q2s130;cu=2;arch=gfx950"), *backend, nullptr);
  REQUIRE_FALSE(decode.result().ok());
  CHECK(decode.result().error().message == "an illegal access; the device has recovered");
  CHECK(device->recoveries == 1);
  prop::Subject prefill(*parse_case("mla1:1q70s70;heads=1;arch=gfx950;kind=prefill"), *backend,
                        nullptr);
  static_cast<void>(prefill.prefill());
  CHECK(device->recoveries == 2);
  CHECK(device->outside == 0);
}

TEST_CASE("Threads use a GPU one after the other, each chooses it first", "[hip]") {
  threads_take_turns(Platform::amd);
  threads_take_turns(Platform::nvidia);
}

}  // namespace mla::hip

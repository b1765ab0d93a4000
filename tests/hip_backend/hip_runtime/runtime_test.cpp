// A HIP program of our own, compiled with clang's `<<<>>>` and run on the emulated device.
#include "hip_backend/hip_runtime/runtime.hpp"

#include <array>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>

#include "hip_backend/gfx_emulator/load.hpp"
#include "program.hpp"
#include "tests/catch.hpp"

namespace hip = mla::hip_runtime;

TEST_CASE("a HIP program gets its arguments, its blocks and its results") {
  (void)hip::take_launched();
  for (const unsigned block : {1U, 64U, 100U, 256U}) {
    std::vector<std::int32_t> a(300), b(300), expected(300);
    for (int i = 0; i < 300; ++i) {
      a[i] = 3 * i - 7;
      b[i] = 11 - i;
      expected[i] = a[i] * b[i] + i;
    }
    REQUIRE(hip_program::multiply_add(a, b, block) == expected);
  }
  const auto launched = hip::take_launched();
  REQUIRE(launched.launches == 4);
  REQUIRE(launched.faults.empty());
  REQUIRE(launched.instructions > 300);
}

TEST_CASE("shuffles keep to their group, and dynamic LDS joins the waves of a block") {
  std::vector<std::int32_t> numbers(512), sums(4);
  for (int i = 0; i < 512; ++i) sums[i / 128] += numbers[i] = i * i - 100 * i;
  REQUIRE(hip_program::block_sums(numbers) == sums);

  const auto seen = hip_program::shuffled();
  for (int lane = 0; lane < 64; ++lane) {
    const int in_group = lane % 16, group = lane - in_group;
    INFO("lane " << lane);
    REQUIRE(seen[lane] == (lane ^ 1));
    REQUIRE(seen[64 + lane] == (in_group < 2 ? lane : lane - 2));
    REQUIRE(seen[128 + lane] == (in_group > 12 ? lane : lane + 3));
    REQUIRE(seen[192 + lane] == group + 5);
    // Beyond its group a lane sees itself, before it what stands there: so HIP has it.
    REQUIRE(seen[256 + lane] == (lane % 32 < 16 ? lane : lane - 16));
  }
}

TEST_CASE("indices and sizes of grid and block have three axes") {
  std::vector<std::int32_t> expected;
  for (int by = 0; by < 3; ++by)
    for (int bx = 0; bx < 2; ++bx)
      for (int z = 0; z < 2; ++z)
        for (int y = 0; y < 2; ++y)
          for (int x = 0; x < 4; ++x)
            expected.push_back(10000 * bx + 1000 * by + 100 * x + 10 * y + z);
  REQUIRE(hip_program::indices() == expected);
}

TEST_CASE("atomic operations of all blocks add up, and a ballot counts the lanes of its wave") {
  std::vector<std::int32_t> numbers(333), expected(11);
  for (int i = 0; i < 333; ++i) {
    const std::int32_t number = numbers[i] = (i * 37 + 5) % 1000;
    ++expected[number % 8];
    expected[8] = std::max(expected[8], number);
    expected[9] += number % 2;
  }
  expected[10] = 1;
  REQUIRE(hip_program::counted(numbers) == expected);
}

TEST_CASE("variables of the device keep what kernels and copies write, and end where they end") {
  using Words = std::vector<std::int32_t>;
  REQUIRE(hip_program::stepped(3) == Words{7, 10, 13, 16, 19, 22, 25, 121, 7});
  REQUIRE(hip_program::stepped(1) == Words{7, 11, 15, 19, 23, 27, 31, 107, 7});
  (void)hip::take_launched();
  const std::vector<hipError_t> expected = {hipErrorInvalidValue, hipErrorInvalidValue,
                                            hipErrorInvalidSymbol};
  REQUIRE(hip_program::strange_symbols() == expected);
  REQUIRE(hip::take_launched().faults.size() == 3);
  (void)hipGetLastError();
}

TEST_CASE("a write past an allocation is an error of the launch, with the kernel's name") {
  (void)hip::take_launched();
  REQUIRE(hip_program::write_past_the_end() == hipErrorLaunchFailure);
  REQUIRE(hipGetLastError() == hipSuccess);
  const auto launched = hip::take_launched();
  REQUIRE(launched.faults.size() == 1);
  REQUIRE(launched.faults[0].find("past_the_end_kernel") != std::string::npos);
}

TEST_CASE("memory of hipMalloc that nothing was written to is found where a kernel reads it") {
  const std::vector<std::int32_t> some(100, 3), all(128, 3);
  hip::set_device({.options = {.checks = mla::gfx::every_check}});
  (void)hip::take_launched();
  REQUIRE(hip_program::copy_of(all, 128) == all);
  REQUIRE(hip::take_launched().findings.empty());
  (void)hip_program::copy_of(some, 128);
  const auto findings = hip::take_launched().findings;
  hip::set_device({});
  REQUIRE(findings.size() == 1);
  REQUIRE(findings[0].starts_with("uninitialised-memory: workgroup (0,0,0) wave 1 lane 36 at "));
  REQUIRE(findings[0].find("address 'hipMalloc'+0x190") != std::string::npos);
}

TEST_CASE("each wait or copy gives back a kernel's fault, until hipGetLastError() does") {
  std::int32_t from = 1, to = 0;
  hipEvent_t event = nullptr;
  REQUIRE(hipEventCreate(&event) == hipSuccess);
  const std::function<hipError_t()> waits[] = {
      [] { return hipDeviceSynchronize(); },
      [] { return hipStreamSynchronize(nullptr); },
      [] { return hipStreamQuery(nullptr); },
      [&] { return hipEventSynchronize(event); },
      [&] { return hipEventQuery(event); },
      [&] { return hipMemcpy(&to, &from, sizeof to, hipMemcpyHostToHost); },
      [] { return hipMemset(nullptr, 0, 0); }};
  for (const auto& wait : waits) {
    hip_program::fault_unasked();
    REQUIRE(wait() == hipErrorLaunchFailure);
    REQUIRE(wait() == hipErrorLaunchFailure);
    REQUIRE(hipGetLastError() == hipErrorLaunchFailure);
    REQUIRE(wait() == hipSuccess);
    REQUIRE(hip_program::write_past_the_end() == hipErrorLaunchFailure);
    REQUIRE(wait() == hipSuccess);
  }
  REQUIRE(to == 1);
  (void)hipGetLastError();
  (void)hip::take_launched();
  REQUIRE(hipEventDestroy(event) == hipSuccess);
}

TEST_CASE("whatever copies or fills without a stream is done, and gives back a kernel's fault") {
  using Words = std::array<std::int32_t, 4>;
  const Words from = {1, 2, 3, 4};
  Words to = {};
  std::int32_t* device = nullptr;
  REQUIRE(hipMalloc(&device, sizeof from) == hipSuccess);
  hipMemcpy3DParms box = {};
  box.srcPtr = make_hipPitchedPtr(const_cast<std::int32_t*>(from.data()), 16, 16, 1);
  box.dstPtr = make_hipPitchedPtr(device, 16, 16, 1);
  box.extent = make_hipExtent(16, 1, 1);
  box.kind = hipMemcpyDefault;
  const std::function<hipError_t()> copies[] = {
      [&] { return hipMemcpyWithStream(device, &from, 16, hipMemcpyHostToDevice, nullptr); },
      [&] { return hipMemcpy2D(device, 8, &from, 8, 8, 2, hipMemcpyHostToDevice); },
      [&] { return hipMemcpy3D(&box); },
      [&] { return hipMemcpyHtoD(device, &from, 16); },
      [&] { return hip_program::copy_to_and_from_variable(device, &from, true); },
      [&] { return hip_program::copy_to_and_from_variable(device, &from, false); }};
  const std::function<hipError_t()> fills[] = {
      [&] { return hipMemset(device, 1, 16); },
      [&] { return hipMemsetD8(device, 1, 16); },
      [&] { return hipMemsetD16(device, 0x0101, 8); },
      [&] { return hipMemsetD32(device, 0x01010101, 4); },
      [&] { return hipMemset2D(device, 8, 1, 8, 2); },
      [&] { return hipMemset3D(make_hipPitchedPtr(device, 16, 16, 1), 1, box.extent); }};
  const auto all_give_it_back = [&](std::span<const std::function<hipError_t()>> calls,
                                    const Words& expected) {
    for (const auto& call : calls) {
      REQUIRE(hipMemset(device, 0, 16) == hipSuccess);
      hip_program::fault_unasked();
      CHECK(call() == hipErrorLaunchFailure);
      CHECK(hipGetLastError() == hipErrorLaunchFailure);
      REQUIRE(hipMemcpy(&to, device, 16, hipMemcpyDeviceToHost) == hipSuccess);
      CHECK(to == expected);
    }
  };
  all_give_it_back(copies, from);
  all_give_it_back(fills, {0x01010101, 0x01010101, 0x01010101, 0x01010101});
  (void)hip::take_launched();
  REQUIRE(hipFree(device) == hipSuccess);
}

TEST_CASE("freed memory is out of bounds, and hipFree refuses what hipMalloc did not give out") {
  REQUIRE(hip_program::write_to_freed() == hipErrorLaunchFailure);
  REQUIRE(hip_program::free_a_stranger() == hipErrorInvalidValue);
  (void)hip::take_launched();
}

TEST_CASE(
    "copies and fills of memory that the device does not have are refused, and touch nothing") {
  (void)hip::take_launched();
  std::int32_t host[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  std::int32_t* device = nullptr;
  REQUIRE(hipMalloc(&device, 16) == hipSuccess);
  REQUIRE(hipMemset(device, 0, 16) == hipSuccess);
  REQUIRE(hipMemcpy(device, host, 20, hipMemcpyHostToDevice) == hipErrorInvalidValue);
  REQUIRE(hipMemcpy(device + 1, host, 16, hipMemcpyDefault) == hipErrorInvalidValue);
  REQUIRE(hipMemcpy(host, device + 4, 4, hipMemcpyDeviceToHost) == hipErrorInvalidValue);
  REQUIRE(hipMemcpy(host, host + 4, 4, hipMemcpyHostToDevice) == hipErrorInvalidValue);
  REQUIRE(hipMemcpy(device, host, 4, hipMemcpyDeviceToDevice) == hipErrorInvalidValue);
  REQUIRE(hipMemcpy(nullptr, host, 4, hipMemcpyHostToDevice) == hipErrorInvalidValue);
  REQUIRE(hipMemset(device, 1, 17) == hipErrorInvalidValue);
  REQUIRE(hipMemset(host, 1, 4) == hipErrorInvalidValue);
  REQUIRE(hipPeekAtLastError() == hipErrorInvalidValue);
  REQUIRE(hipGetLastError() == hipErrorInvalidValue);
  REQUIRE(hipPeekAtLastError() == hipSuccess);
  std::int32_t seen[4] = {9, 9, 9, 9};
  REQUIRE(hipMemcpy(seen, device, 16, hipMemcpyDeviceToHost) == hipSuccess);
  for (const std::int32_t word : seen) REQUIRE(word == 0);
  REQUIRE(host[0] == 1);
  const auto sentences = hip::take_launched().faults;
  REQUIRE(sentences.size() == 7);
  REQUIRE(sentences[0] == "hipMemcpy to: 20 bytes reach past the end of an allocation");
  REQUIRE(sentences[3] == "hipMemcpy to: what should be on the device is not");
  REQUIRE(hipFree(device) == hipSuccess);
}

TEST_CASE("memory beyond the device's is an error, and no pointer") {
  int mark = 0;
  void* pointer = &mark;
  REQUIRE(hipMalloc(&pointer, std::size_t{1} << 50) == hipErrorOutOfMemory);
  REQUIRE(pointer == nullptr);
  REQUIRE(hipMalloc(&pointer, 0) == hipSuccess);
  REQUIRE(pointer == nullptr);
  REQUIRE(std::string(hipGetErrorName(hipGetLastError())) == "hipErrorOutOfMemory");
}

TEST_CASE("events are in the order in which they were recorded, and none before it was recorded") {
  hipEvent_t first = nullptr, second = nullptr;
  REQUIRE(hipEventCreate(&first) == hipSuccess);
  REQUIRE(hipEventCreate(&second) == hipSuccess);
  float milliseconds = -1;
  REQUIRE(hipEventElapsedTime(&milliseconds, first, second) == hipErrorInvalidResourceHandle);
  REQUIRE(hipEventRecord(first) == hipSuccess);
  (void)hip_program::indices();
  REQUIRE(hipEventRecord(second) == hipSuccess);
  REQUIRE(hipEventElapsedTime(&milliseconds, first, second) == hipSuccess);
  REQUIRE(milliseconds > 0);
  REQUIRE(hipEventDestroy(first) == hipSuccess);
  REQUIRE(hipEventDestroy(second) == hipSuccess);
  REQUIRE(hipEventDestroy(nullptr) == hipErrorInvalidResourceHandle);
  (void)hipGetLastError();
}

TEST_CASE("the device has the units that were asked for and the architecture of the program") {
  hip::set_device({.units = 80});
  hipDeviceProp_t properties;
  REQUIRE(hipGetDeviceProperties(&properties, 0) == hipSuccess);
  REQUIRE(properties.multiProcessorCount == 80);
  REQUIRE(properties.warpSize == 64);
  const bool gfx950 = std::string(MLA_ARCH) == "gfx950";
  REQUIRE(std::string(properties.gcnArchName).substr(0, 7) == MLA_ARCH ":");
  REQUIRE(properties.sharedMemPerBlock == (gfx950 ? 163840 : 65536));
  REQUIRE(properties.sharedMemPerMultiprocessor == properties.sharedMemPerBlock);
  REQUIRE(hipGetDeviceProperties(&properties, 1) == hipErrorInvalidDevice);
  int value = 0;
  REQUIRE(hipDeviceGetAttribute(&value, hipDeviceAttributePciChipId, 0) == hipErrorNotSupported);
  hip::set_device({});
}

// A SIMD has 512 registers for each lane: 64 each for 8 waves, where CUDA would mean 8 blocks.
TEST_CASE("the second launch bound is waves of a SIMD, and limits the registers to their share") {
  std::ifstream file(MLA_PROGRAM, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto program = mla::gfx::load_code_object(std::as_bytes(std::span(text)), {});
  REQUIRE(program);
  const auto* const one = program->kernel("one_bound_kernel");
  const auto* const two = program->kernel("two_bounds_kernel");
  REQUIRE(one);
  REQUIRE(two);
  REQUIRE(one->max_workgroup_size == 64);
  REQUIRE(one->stated_vgprs >= 160);
  REQUIRE(one->spilled_vgprs == 0);
  REQUIRE(two->stated_vgprs <= 64);
}

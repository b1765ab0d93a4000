// A HIP program of our own, compiled with clang's `<<<>>>` and run on the emulated device.
#include "hip_backend/hip_runtime/runtime.hpp"

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

TEST_CASE("a write past an allocation is an error of the launch, with the kernel's name") {
  (void)hip::take_launched();
  REQUIRE(hip_program::write_past_the_end() == hipErrorLaunchFailure);
  REQUIRE(hipGetLastError() == hipSuccess);
  const auto launched = hip::take_launched();
  REQUIRE(launched.faults.size() == 1);
  REQUIRE(launched.faults[0].find("past_the_end_kernel") != std::string::npos);
}

TEST_CASE("freed memory is out of bounds, and hipFree refuses what hipMalloc did not give out") {
  REQUIRE(hip_program::write_to_freed() == hipErrorLaunchFailure);
  REQUIRE(hip_program::free_a_stranger() == hipErrorInvalidValue);
  (void)hip::take_launched();
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
  REQUIRE(hipGetDeviceProperties(&properties, 1) == hipErrorInvalidDevice);
  int value = 0;
  REQUIRE(hipDeviceGetAttribute(&value, hipDeviceAttributePciChipId, 0) == hipErrorNotSupported);
  hip::set_device({});
}

// The names of what was launched, as a process takes them: hipTestbedTakeLaunches().
#include <hip/hip_testbed.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "hand_over.hpp"
#include "hip_backend/hip_runtime/runtime.hpp"
#include "program.hpp"
#include "tests/catch.hpp"

namespace {

std::string taken(int expected) {
  std::array<char, 4096> text{};
  CHECK(hipTestbedTakeLaunches(text.data(), text.size()) == expected);
  return text.data();
}

}  // namespace

TEST_CASE(
    "hipTestbedTakeLaunches takes the names of kernels once, in their order, as the source has "
    "them") {
  (void)mla::hip_runtime::take_launched();
  CHECK(taken(0).empty());
  const std::vector<std::int32_t> numbers(128, 1);
  (void)hip_program::block_sums(numbers);
  (void)hip_program::sum_by_the_last_block(numbers, hip_program::Fences::both);
  (void)hip_program::block_sums(numbers);
  CHECK(taken(3) ==
        "hip_program::block_sums_kernel\nhip_program::sum_kernel\n"
        "hip_program::block_sums_kernel\n");
  CHECK(taken(0).empty());
}

TEST_CASE("hipTestbedTakeLaunches leaves out what was refused, and cuts text that does not fit") {
  (void)mla::hip_runtime::take_launched();
  CHECK(hip_program::launch_no_blocks() == hipErrorInvalidConfiguration);
  CHECK(taken(0).empty());
  (void)hip_program::indices();
  std::array<char, 6> text{};
  CHECK(hipTestbedTakeLaunches(text.data(), text.size()) == 1);
  CHECK(std::string(text.data()) == "hip_p");
  CHECK(hipTestbedTakeLaunches(nullptr, 0) == 0);
  (void)mla::hip_runtime::take_launched();
  (void)hipGetLastError();
}

TEST_CASE("hipTestbedTakeLaunches names the first 1024 of more launches") {
  (void)mla::hip_runtime::take_launched();
  for (int i = 0; i < 1025; ++i) (void)hip_program::platform_on_device();
  CHECK(hipTestbedTakeLaunches(nullptr, 0) == 1024);
}

// Global atomics, with workgroups on several host threads.
#include <algorithm>

#include "device.hpp"
#include "tests/catch.hpp"

TEST_CASE("atomics on global memory count every thread of every workgroup") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("atomics", target);
  constexpr std::uint32_t threads = 2048;
  const auto words = device.upload<std::uint32_t>({0, 0, 0, ~0U, 0, 0, 0, 0, 0}, "words");
  const auto longs = device.upload<std::uint64_t>({0, 0, 0}, "longs");
  const auto reals = device.upload<float>({0}, "reals");
  const auto doubles = device.upload<double>({0}, "doubles");
  const auto order = device.buffer<std::uint32_t>(threads, "order");
  device.run("atomics",
             gfx_test::Arguments().add(words).add(longs).add(reals).add(doubles).add(order),
             {.grid = {threads / 256, 1, 1}, .block = {256, 1, 1}, .options = {.threads = 3}});
  constexpr std::uint64_t sum = std::uint64_t{threads} * (threads - 1) / 2;
  std::uint32_t mixed = 0;
  for (std::uint32_t n = 0; n < threads; ++n) mixed ^= n * 2654435761U;
  REQUIRE(words[0] == sum);
  REQUIRE(words[1] == threads - 1);
  REQUIRE(words[2] == 0U - (threads - 1));
  REQUIRE(words[3] == 0);
  REQUIRE(words[4] == (1U << 29) - 1);
  REQUIRE(words[5] == mixed);
  REQUIRE(words[6] == 0U - 3 * threads);
  REQUIRE(words[7] < threads);
  REQUIRE(longs[0] == sum << 33);
  REQUIRE(longs[1] == std::uint64_t{threads - 1} << 35);
  REQUIRE(longs[2] == sum);
  REQUIRE(reals[0] == threads * 0.25F);
  REQUIRE(doubles[0] == threads * 0.125);
  std::vector<std::uint32_t> sorted(order.begin(), order.end());
  std::sort(sorted.begin(), sorted.end());
  for (std::uint32_t n = 0; n < threads; ++n) REQUIRE(sorted[n] == n);
}

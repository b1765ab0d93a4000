// Divergence, calls, scratch, recursion, and what a thread knows of itself.
#include <algorithm>

#include "device.hpp"
#include "tests/catch.hpp"

namespace {

std::uint32_t steps(std::uint32_t value) {
  std::uint32_t count = 0;
  for (; value != 1; ++count) value = value % 2 == 0 ? value / 2 : 3 * value + 1;
  return count;
}

std::uint32_t choose(std::uint32_t kind, std::uint32_t a) {
  const std::uint32_t results[] = {a + 1, a * 3, a ^ 0x55, a >> 2, a - 7, ~a, a};
  return results[std::min(kind, 6U)];
}

std::uint32_t fibonacci(std::uint32_t n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

}  // namespace

TEST_CASE("lanes that leave a loop early wait for the others") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("flow", target);
  std::vector<std::uint32_t> values(512);
  for (std::uint32_t n = 0; n < values.size(); ++n) values[n] = n * 37 + 1;
  const auto in = device.upload(values, "in");
  const auto out = device.buffer<std::uint32_t>(values.size(), "out");
  device.run("collatz", gfx_test::Arguments().add(in).add(out),
             {.grid = {2, 1, 1}, .block = {256, 1, 1}});
  for (std::size_t n = 0; n < values.size(); ++n) REQUIRE(out[n] == steps(values[n]));
}

TEST_CASE("functions call themselves") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("flow", target);
  const auto out = device.buffer<std::uint32_t>(64, "out");
  device.run("recursive", gfx_test::Arguments().add(out), {});
  for (std::uint32_t n = 0; n < 64; ++n) REQUIRE(out[n] == fibonacci(n % 9));
}

TEST_CASE("recursion has no finding under all checks: to save a register is not to use it") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  gfx_test::Device device("flow", target);
  const auto out = device.buffer<std::uint32_t>(64, "out");
  gfx_test::Shape shape;
  shape.options.checks = mla::gfx::every_check;
  const auto report = device.report("recursive", gfx_test::Arguments().add(out), shape);
  INFO(target.text() << " " << (report.findings.empty() ? "" : report.findings.front().line()));
  CHECK(report.faults.empty());
  CHECK(report.findings.empty());
}

TEST_CASE("private arrays are each lane's own") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("flow", target);
  gfx_test::Random random(11);
  std::vector<std::uint32_t> values(1024);
  for (auto& value : values) value = static_cast<std::uint32_t>(random.next() >> 40);
  const auto in = device.upload(values, "in");
  const auto out = device.buffer<std::uint32_t>(1024, "out");
  device.run("sorted", gfx_test::Arguments().add(in).add(out), {});
  for (std::size_t n = 0; n < 64; ++n) {
    std::vector<std::uint32_t> want;
    for (std::size_t k = 0; k < 16; ++k) {
      want.push_back(choose(values[16 * n + k] % 7, values[16 * n + k]));
    }
    std::sort(want.begin(), want.end());
    for (std::uint32_t k = 0; k < 16; ++k) REQUIRE(out[16 * n + k] == want[k * values[0] % 16]);
  }
}

TEST_CASE("calls go through pointers, and constants and variables have addresses") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("flow", target);
  const auto out = device.buffer<std::uint32_t>(192, "out");
  device.run("pointers", gfx_test::Arguments().add(out), {.grid = {3, 1, 1}});
  for (std::uint32_t n = 0; n < 192; ++n) {
    REQUIRE(out[n] == (n % 2 == 0 ? 2 * n : n * n) + 11 * (n % 4 + 1) + 5);
  }
}

TEST_CASE("every thread knows its place in three dimensions") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("flow", target);
  const std::array<std::uint32_t, 3> grid = {3, 2, 2}, block = {5, 7, 3};
  const auto out = device.buffer<std::uint32_t>(12 * 105, "out");
  device.run("ids", gfx_test::Arguments().add(out), {.grid = grid, .block = block});
  std::size_t at = 0;
  for (std::uint32_t g = 0; g < 12; ++g) {
    for (std::uint32_t t = 0; t < 105; ++t, ++at) {
      const std::uint32_t want =
          t % 5 | t / 5 % 7 << 4 | t / 35 << 8 | g % 3 << 12 | g / 3 % 2 << 16 | g / 6 << 20;
      REQUIRE(out[at] == want);
    }
  }
}

TEST_CASE("a workgroup finds nothing of the one before it, after few instructions and after many") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  const std::uint32_t turns = GENERATE(0, 200);
  const std::uint32_t slice = GENERATE(0, 4, 63);
  INFO(target.text() << ", " << turns << " turns, slices of " << slice);
  gfx_test::Device device("flow", target);
  const auto out = device.buffer<std::uint32_t>(5 * 192, "out");
  const auto report =
      device.report("left_behind", gfx_test::Arguments().add(out).add(turns),
                    {.grid = {5, 1, 1}, .options = {.schedule = {.slice = slice}, .threads = 1}});
  REQUIRE(report.faults.empty());
  for (const std::uint32_t word : out) REQUIRE(word == 0xa5a5a5a5);
}

// Workgroups that wait for one another: they end if all of them can, with any number of threads.
#include <cstdint>
#include <string>
#include <vector>

#include "device.hpp"
#include "hip_backend/gfx_emulator/run/interrupt.hpp"
#include "tests/catch.hpp"

using mla::gfx::LaunchReport;
using mla::gfx::Problem;

namespace {

constexpr std::uint32_t groups = 12, threads = 128;

struct Seen {
  std::vector<std::uint32_t> out, flags;
  LaunchReport report;
};

Seen launched(const gfx_test::Target& target, const std::string& kernel, std::uint32_t grid,
              const mla::gfx::RunOptions& options) {
  gfx_test::Device device("residents", target);
  const auto out = device.upload(std::vector<std::uint32_t>(std::size_t{grid} * threads, 7), "out");
  const auto flags = device.upload(std::vector<std::uint32_t>(64, 0), "flags");
  gfx_test::Arguments arguments;
  arguments.add(out).add(flags).add(grid);
  const gfx_test::Shape shape{.grid = {grid, 1, 1}, .block = {threads, 1, 1}, .options = options};
  LaunchReport report = device.report(kernel, arguments, shape);
  return {{out.begin(), out.end()}, {flags.begin(), flags.end()}, std::move(report)};
}

const std::vector<gfx_test::Target> compiled = {{"gfx942", 2}, {"gfx950", 2}};
const std::vector<std::string> ways = {"meets_by_loads", "meets_by_atomics",
                                       "meets_through_barriers", "passes_from_last_to_first"};

// What each thread of the ways above leaves.
bool is_right(const Seen& seen, std::uint32_t grid) {
  for (std::uint32_t k = 0; k < grid * threads; ++k)
    if (seen.out[k] != 1000 * grid + k / threads) return false;
  return true;
}

}  // namespace

TEST_CASE("residents: workgroups that wait for later ones end, with any number of threads") {
  const auto target = GENERATE(from_range(compiled));
  const auto kernel = GENERATE(from_range(ways));
  const int host_threads = GENERATE(1, 2, 5);
  INFO(target.text() << " " << kernel << ", " << host_threads << " threads");
  const auto seen =
      launched(target, kernel, groups, {.instruction_limit = 100'000'000, .threads = host_threads});
  for (const auto& fault : seen.report.faults) INFO(fault.line());
  REQUIRE(seen.report.clean());
  REQUIRE(is_right(seen, groups));
  REQUIRE(seen.report.statistics.workgroups == groups);
  REQUIRE(seen.report.statistics.waves == groups * 2);
}

TEST_CASE("residents: they end under other turns, late memory and checks of each instruction") {
  const auto target = GENERATE(from_range(compiled));
  const auto kernel = GENERATE(from_range(ways));
  using mla::gfx::Arrival;
  using mla::gfx::Order;
  const std::vector<mla::gfx::RunOptions> all = {
      {.schedule = {.slice = 0}},
      {.schedule = {.slice = 1, .order = Order::random, .seed = 3}},
      {.schedule = {.slice = 0, .order = Order::reverse}},
      {.arrival = {.mode = Arrival::Mode::late}},
      {.checks = {.waits = true, .lds_races = true, .uninitialised = true, .lanes = true}},
      {.profile = true, .trace = std::array<std::uint32_t, 3>{1, 0, 0}},
  };
  for (std::size_t k = 0; k < all.size(); ++k) {
    INFO(target.text() << " " << kernel << ", options " << k);
    mla::gfx::RunOptions options = all[k];
    options.instruction_limit = 100'000'000;
    options.threads = 1;
    const auto seen = launched(target, kernel, 3, options);
    REQUIRE(seen.report.faults.empty());
    REQUIRE(is_right(seen, 3));
  }
}

TEST_CASE("residents: workgroups that never can go on end at the limit, which says so") {
  const auto target = GENERATE(from_range(compiled));
  const int host_threads = GENERATE(1, 3);
  INFO(target.text() << ", " << host_threads << " threads");
  const auto seen = launched(target, "waits_for_nobody", groups,
                             {.instruction_limit = 3'000'000, .threads = host_threads});
  REQUIRE(seen.report.faults.size() == 1);
  const auto& fault = seen.report.faults[0];
  REQUIRE(fault.problem == Problem::instruction_limit);
  REQUIRE(fault.place.starts_with("waits_for_nobody"));
  REQUIRE(fault.text.find(" workgroups wait for others, and nothing has changed for 3000000 ") !=
          std::string::npos);
  // Not each of them its own 3,000,000 and more.
  REQUIRE(seen.report.statistics.instructions < 8'000'000);
}

TEST_CASE("residents: what one of them does is no waiting of the others: the limit counts anew") {
  const auto target = GENERATE(from_range(compiled));
  INFO(target.text());
  // 66 turns of 65,536 instructions at least, and 12 between two that end.
  const auto seen = launched(target, "passes_from_last_to_first", groups,
                             {.instruction_limit = 2'000'000, .threads = 1});
  REQUIRE(seen.report.clean());
  REQUIRE(is_right(seen, groups));
  REQUIRE(seen.report.statistics.instructions > 2'000'000);
}

TEST_CASE("residents: those that find no room begin when others end, which may be never") {
  const auto target = GENERATE(from_range(compiled));
  INFO(target.text());
  // Two waves of 128 KiB of registers, and a little.
  const auto options = [](std::size_t room) {
    return mla::gfx::RunOptions{
        .instruction_limit = 3'000'000, .waiting_memory = room * 300'000, .threads = 1};
  };
  REQUIRE(is_right(launched(target, "meets_by_loads", 3, options(3)), 3));
  const auto none = launched(target, "meets_by_loads", 4, options(3));
  REQUIRE(none.report.faults.size() == 1);
  REQUIRE(none.report.faults[0].text.starts_with("3 workgroups wait for others"));
  const auto seen = launched(target, "is_long_and_quiet", 5, options(2));
  REQUIRE(seen.report.clean());
  REQUIRE(seen.report.statistics.workgroups == 5);
}

TEST_CASE("residents: with checks that follow workgroups one after the other, none is laid aside") {
  const auto target = GENERATE(from_range(compiled));
  INFO(target.text());
  const auto seen = launched(target, "meets_by_loads", 2,
                             {.checks = {.global_races = true}, .instruction_limit = 200'000});
  REQUIRE(seen.report.faults.size() == 1);
  REQUIRE(seen.report.faults[0].problem == Problem::instruction_limit);
  REQUIRE(seen.report.faults[0].workgroup[0] == 0);
  REQUIRE(seen.report.faults[0].text.starts_with("the wave has executed "));
}

TEST_CASE("residents: one that was only busy goes on where it was") {
  const auto target = GENERATE(from_range(compiled));
  const auto seen = launched(target, "is_long_and_quiet", 3, {});
  INFO(target.text());
  REQUIRE(seen.report.clean());
  for (std::uint32_t k = 0; k < 3 * threads; ++k) {
    std::uint32_t value = k + 1;
    for (std::uint32_t n = 0; n < 30000; ++n) value = value * 1664525 + 1013904223;
    REQUIRE(seen.out[k] == value);
  }
}

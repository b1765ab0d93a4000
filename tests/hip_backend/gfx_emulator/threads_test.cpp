// A launch gives the same results and says the same, whatever the number of host threads.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "device.hpp"
#include "tests/catch.hpp"

using mla::gfx::LaunchReport;

namespace {

constexpr std::uint32_t groups = 40;
constexpr std::uint64_t bad = 0x8000'1220;  // groups 5, 9, 12 and 31

struct Seen {
  std::vector<std::uint32_t> out;
  LaunchReport report;
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> all;
    for (const auto* events : {&report.faults, &report.findings})
      for (const auto& event : *events) all.push_back(event.line());
    return all;
  }
};

Seen launched(const gfx_test::Target& target, const std::string& kernel, bool far,
              const mla::gfx::RunOptions& options, int threads) {
  gfx_test::Device device("threads", target);
  const std::uint32_t block = kernel == "races_in_groups" ? 128 : 64;
  const auto out = device.upload(std::vector<std::uint32_t>(groups * block, 7), "out");
  gfx_test::Arguments arguments;
  arguments.add(out).add(bad);
  if (far) arguments.add(std::uint64_t{1} << 40);
  gfx_test::Shape shape{.grid = {groups, 1, 1}, .block = {block, 1, 1}, .options = options};
  shape.options.threads = threads;
  LaunchReport report = device.report(kernel, arguments, shape);
  return {{out.begin(), out.end()}, std::move(report)};
}

const std::vector<gfx_test::Target> compiled = {{"gfx942", 2}, {"gfx950", 2}};

}  // namespace

TEST_CASE("threads: of several faults the first workgroup's is reported, with any number of them") {
  const auto target = GENERATE(from_range(compiled));
  const int threads = GENERATE(1, 2, 5);
  const std::uint32_t limit = GENERATE(1, 3);
  INFO(target.text() << ", " << threads << " threads, limit " << limit);
  for (int repeat = 0; repeat < 10; ++repeat) {
    const auto seen = launched(target, "faults_in_groups", true, {.fault_limit = limit}, threads);
    REQUIRE(seen.report.faults.size() == limit);
    // 64 lanes are outside: those of the first group fill the limit.
    for (const auto& fault : seen.report.faults) REQUIRE(fault.workgroup[0] == 5);
    // What comes before it has run to its end.
    const auto first = seen.out.begin();
    REQUIRE(std::count(first, first + 5 * 64, 7U) == 0);
  }
}

TEST_CASE("threads: the instruction limit names the first workgroup that reaches it") {
  const auto target = GENERATE(from_range(compiled));
  const int threads = GENERATE(1, 2, 5);
  INFO(target.text() << ", " << threads << " threads");
  const auto seen =
      launched(target, "spins_in_groups", false, {.instruction_limit = 50'000}, threads);
  REQUIRE(seen.report.faults.size() == 1);
  REQUIRE(seen.report.faults[0].problem == mla::gfx::Problem::instruction_limit);
  REQUIRE(seen.report.faults[0].workgroup[0] == 5);
}

TEST_CASE("threads: results, findings, profile and statistics are those of one thread") {
  const auto target = GENERATE(from_range(compiled));
  const int threads = GENERATE(2, 5);
  const std::uint32_t limit = GENERATE(1, 64);
  INFO(target.text() << ", " << threads << " threads, finding limit " << limit);
  mla::gfx::RunOptions options{
      .checks = {.waits = true, .lds_races = true, .uninitialised = true, .lanes = true},
      .finding_limit = limit,
      .profile = true};
  const auto one = launched(target, "races_in_groups", false, options, 1);
  REQUIRE(one.report.findings.size() == std::min<std::size_t>(limit, 2));
  for (int repeat = 0; repeat < 10; ++repeat) {
    const auto several = launched(target, "races_in_groups", false, options, threads);
    REQUIRE(several.out == one.out);
    REQUIRE(several.lines() == one.lines());
    REQUIRE(several.report.findings_dropped == one.report.findings_dropped);
    REQUIRE(several.report.statistics.instructions == one.report.statistics.instructions);
    REQUIRE(several.report.profile.size() == one.report.profile.size());
    for (std::size_t k = 0; k < one.report.profile.size(); ++k) {
      REQUIRE(several.report.profile[k].count.executed == one.report.profile[k].count.executed);
    }
  }
}

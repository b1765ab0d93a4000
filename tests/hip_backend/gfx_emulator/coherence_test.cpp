// The check of what one workgroup hands to another: release, acquire and scope.
#include <cstdint>
#include <string>
#include <vector>

#include "device.hpp"
#include "tests/catch.hpp"

using mla::gfx::Problem;

namespace {

std::vector<mla::gfx::Event> findings_of(const gfx_test::Target& target, const std::string& kernel,
                                         std::uint32_t groups = 2) {
  gfx_test::Device device("coherence", target);
  const auto data = device.upload(std::vector<std::uint32_t>(128 * groups, 0), "data");
  const auto flag = device.upload(std::vector<std::uint32_t>(1, 0), "flag");
  const auto out = device.upload(std::vector<std::uint32_t>(128, 0), "out");
  gfx_test::Shape shape{.grid = {groups, 1, 1}};
  shape.block = {kernel.starts_with("three_") || kernel.starts_with("told_") ? 64U : 128U, 1, 1};
  shape.options.checks.coherence = true;
  shape.options.instruction_limit = 1'000'000;
  auto report =
      device.report(kernel, gfx_test::Arguments().add(data).add(flag).add(out).add(groups), shape);
  INFO(target.text() << " " << kernel << " "
                     << (report.faults.empty() ? "" : report.faults[0].line()));
  REQUIRE(report.faults.empty());
  return report.findings;
}

mla::gfx::Event only_finding(const gfx_test::Target& target, const std::string& kernel,
                             Problem problem, std::uint32_t groups = 2) {
  const auto found = findings_of(target, kernel, groups);
  std::string lines;
  for (const auto& event : found) lines += event.line() + "\n";
  INFO(target.text() << " " << kernel << "\n" << lines);
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].problem == problem);
  REQUIRE(found[0].workgroup[0] == groups - 1);
  REQUIRE(found[0].cause.has_value());
  return found[0];
}

}  // namespace

TEST_CASE("coherence: correct hand-overs have no finding") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  for (const char* const kernel :
       {"operations", "fences_of_all", "fences_of_one", "of_the_system", "read_modify_write",
        "volatile_read", "atomic_data", "written_through", "flag_read_again", "guessed",
        "last_adds_up"}) {
    const auto found = findings_of(target, kernel);
    INFO(target.text() << " " << kernel << " " << (found.empty() ? "" : found[0].line()));
    REQUIRE(found.empty());
  }
  REQUIRE(findings_of(target, "last_adds_up", 40).empty());
  REQUIRE(findings_of(target, "relayed", 3).empty());
}

TEST_CASE("coherence: accesses that no atomic orders are left to the check of races") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  REQUIRE(findings_of(target, "nothing_tells").empty());
  REQUIRE(findings_of(target, "relayed_too_early", 3).empty());
}

TEST_CASE("coherence: data without a release before the flag is found where it is used") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  for (const char* const kernel :
       {"relaxed_store", "relaxed_add", "release_of_the_group", "release_too_early",
        "release_not_waited_for", "release_of_cache_too_near", "flag_before_data", "no_barrier",
        "overwritten"}) {
    const auto found = only_finding(target, kernel, Problem::missing_release);
    REQUIRE(found.range == "data");
    REQUIRE(found.cause->workgroup[0] == 0);
    REQUIRE(found.cause->disassembly.find("_store_dword ") != std::string::npos);
    REQUIRE(found.fix.starts_with("buffer_wbl2 sc1 and s_waitcnt vmcnt(0) before that atomic"));
  }
  // Without optimisation the result goes to scratch, which waits for it.
  if (target.level > 0) {
    const auto sums = only_finding(target, "sums_unreleased", Problem::missing_release);
    REQUIRE(sums.fix == "s_waitcnt vmcnt(0) before that atomic");
  }
  const auto relayed = only_finding(target, "relayed_unreleased", Problem::missing_release, 3);
  REQUIRE(relayed.cause->workgroup[0] == 0);
  // Of all groups before, the first.
  const auto found = only_finding(target, "last_adds_unreleased", Problem::missing_release, 5);
  REQUIRE(found.cause->workgroup[0] == 0);
}

TEST_CASE("coherence: data that is read without an acquire after the flag is found") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  for (const char* const kernel :
       {"relaxed_load", "acquire_of_the_group", "acquire_of_cache_too_near", "acquire_too_early",
        "acquire_before_the_answer"}) {
    const auto found = only_finding(target, kernel, Problem::missing_acquire);
    REQUIRE(found.range == "data");
    REQUIRE(found.cause->workgroup[0] == 1);
    REQUIRE(found.cause->disassembly.ends_with(" sc1"));
    REQUIRE(found.fix.starts_with("buffer_inv sc1 after that atomic has returned"));
  }
  REQUIRE(only_finding(target, "sums_unacquired", Problem::missing_acquire).range == "data");
  const auto found = only_finding(target, "last_adds_unacquired", Problem::missing_acquire, 5);
  REQUIRE(found.cause->disassembly.find("_atomic_add") != std::string::npos);
}

TEST_CASE("coherence: flags with the scope of a workgroup are found on either side") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  const auto stored = only_finding(target, "store_of_the_group", Problem::narrow_scope);
  REQUIRE(stored.range == "flag");
  REQUIRE(stored.text.starts_with("the other atomic has the scope of its workgroup"));
  const auto loaded = only_finding(target, "load_of_the_group", Problem::narrow_scope);
  REQUIRE(loaded.range == "flag");
  REQUIRE(loaded.text.starts_with("this atomic has the scope of its workgroup"));
}

TEST_CASE("coherence: a finding names the load, the store and the flag by line") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  const auto release = only_finding(target, "three_lines", Problem::missing_release);
  INFO(release.line());
  REQUIRE(release.source->file.ends_with("coherence.hip"));
  const std::uint32_t load = release.source->line;
  REQUIRE(release.cause->source->line == load - 5);
  REQUIRE(release.text.find("coherence.hip:" + std::to_string(load - 4) + ")") !=
          std::string::npos);
  REQUIRE(release.line().find("coherence.hip:" + std::to_string(load - 5) + ")") !=
          std::string::npos);
  const auto acquire = only_finding(target, "three_lines_of_the_reader", Problem::missing_acquire);
  INFO(acquire.line());
  const std::uint32_t second = acquire.source->line;
  REQUIRE(acquire.cause->source->line == second - 2);
  REQUIRE(acquire.text.find("coherence.hip:" + std::to_string(second - 5) + ")") !=
          std::string::npos);
}

// The hole that the documentation names: nobody but the device's workgroups is looked at.
TEST_CASE("coherence: a release of the agent for data that the host reads has no finding") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  REQUIRE(findings_of(target, "told_to_the_host", 1).empty());
}

TEST_CASE("coherence: without the check broken hand-overs have no finding") {
  gfx_test::Device device("coherence", {"gfx942", 2});
  const auto words = device.upload(std::vector<std::uint32_t>(400, 0), "words");
  gfx_test::Shape shape{.grid = {2, 1, 1}, .block = {128, 1, 1}};
  shape.options.checks = mla::gfx::every_check;
  const auto report = device.report(
      "relaxed_load", gfx_test::Arguments().add(words).add(&words[256]).add(&words[260]), shape);
  REQUIRE(report.faults.empty());
  for (const auto& finding : report.findings) REQUIRE(finding.problem != Problem::missing_acquire);
}

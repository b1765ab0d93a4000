// The check `coherence` on HIP programs: fences and flags between blocks.
#include "hand_over.hpp"

#include <numeric>
#include <string>
#include <vector>

#include "hip_backend/hip_runtime/runtime.hpp"
#include "own_process.hpp"
#include "tests/catch.hpp"

namespace hip = mla::hip_runtime;
using hip_program::Fences;

namespace {

// What the check says of the launches of `program`.
template <class Program>
std::vector<std::string> findings_of(const Program& program) {
  mla::gfx::RunOptions options;
  options.checks.coherence = true;
  hip::set_device({.options = options});
  (void)hip::take_launched();
  program();
  const auto launched = hip::take_launched();
  hip::set_device({});
  REQUIRE(launched.faults.empty());
  return launched.findings;
}

std::vector<std::string> findings_of_sum(Fences fences) {
  std::vector<std::int32_t> numbers(9 * 128);
  std::iota(numbers.begin(), numbers.end(), -400);
  return findings_of([&] {
    REQUIRE(hip_program::sum_by_the_last_block(numbers, fences) ==
            std::accumulate(numbers.begin(), numbers.end(), 0));
  });
}

std::vector<std::string> findings_of_flag(bool released, bool acquired) {
  return findings_of(
      [&] { REQUIRE(hip_program::told_by_a_flag(12345, released, acquired) == 12345); });
}

}  // namespace

TEST_CASE("the last block needs a fence of each block before it counts, and one of its own after") {
  for (const Fences fences : {Fences::both, Fences::before_and_volatile}) {
    const auto found = findings_of_sum(fences);
    INFO((found.empty() ? "" : found[0]));
    REQUIRE(found.empty());
  }
  const auto before = findings_of_sum(Fences::only_after);
  REQUIRE(!before.empty());
  REQUIRE(before[0].starts_with("missing-release: workgroup (8,0,0) wave 0 lane 0 at "));
  REQUIRE(before[0].find(" of workgroup (0,0,0) wave 0; missing: buffer_wbl2 sc1 and ") !=
          std::string::npos);
  const auto after = findings_of_sum(Fences::only_before);
  REQUIRE(!after.empty());
  REQUIRE(after[0].starts_with("missing-acquire: workgroup (8,0,0) wave 0 lane 0 at "));
  REQUIRE(after[0].find(" of workgroup (8,0,0) wave 0; missing: buffer_inv sc1 after ") !=
          std::string::npos);
}

TEST_CASE("a flag between blocks needs a release on one side and an acquire on the other") {
  REQUIRE(findings_of_flag(true, true).empty());
  const auto store = findings_of_flag(false, true), load = findings_of_flag(true, false);
  REQUIRE(store.size() == 1);
  REQUIRE(store[0].starts_with("missing-release: "));
  REQUIRE(load.size() == 1);
  REQUIRE(load[0].starts_with("missing-acquire: "));
}

// Run by the next one in a process of its own; hidden.
TEST_CASE("a flag without a release", "[.]") {
  REQUIRE(hip_program::told_by_a_flag(7, false, true) == 7);
}

TEST_CASE("MLA_HIP_CHECKS looks at hand-overs only with the value coherence") {
  const auto said = [](const std::string& value) {
    return hip_program::said_with("MLA_HIP_CHECKS=" + value, "a flag without a release");
  };
  const std::string sentence = "HIP on the emulator: missing-release: workgroup (1,0,0)";
  REQUIRE(said("coherence").find(sentence) != std::string::npos);
  REQUIRE(said("1").find("missing-release") == std::string::npos);
}

// Claims about the fuzz targets: bytes decode to complete cases of every kind, and blind bytes,
// which every CI run can afford, find nothing.
#include <array>
#include <random>
#include <set>

#include "properties/fuzz/target.hpp"
#include "properties/generate/cases.hpp"
#include "tests/catch.hpp"

using namespace mla;
using namespace mla::prop;
using fuzz::ByteChoices;

namespace {

std::vector<std::uint8_t> random_bytes(std::mt19937_64& random) {
  std::vector<std::uint8_t> bytes(random() % 200);
  for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(random());
  return bytes;
}

}  // namespace

TEST_CASE("fuzz: no bytes are the first answer to every question", "[fuzz]") {
  ByteChoices choices({});
  CHECK(choices.empty());
  CHECK(choices.pick(std::array{3, 5, 1}) == 0);
  CHECK(choices.between(-4, 9) == -4);
}

TEST_CASE("fuzz: bytes answer within the range that was asked for, each with its own", "[fuzz]") {
  const std::vector<std::uint8_t> bytes{7, 1, 200, 255};
  ByteChoices choices(bytes);
  CHECK(choices.pick(std::array{1, 1, 1}) == 1);  // 7 mod 3
  CHECK(choices.between(10, 19) == 11);           // 1
  CHECK(choices.between(0, 999) == 200 * 256 % 1000 + 255);
  CHECK(choices.empty());
  CHECK(choices.between(5, 5) == 5);  // one answer needs no byte
}

TEST_CASE("fuzz: random bytes reach every kind of step and both planners' routes", "[fuzz]") {
  std::mt19937_64 random(5);
  std::set<StepKind> kinds;
  std::set<PlannerChoice> planners;
  for (int i = 0; i < 500; ++i) {
    const auto bytes = random_bytes(random);
    ByteChoices choices(bytes);
    const Case c = draw_case(choices, random_domain(60));
    kinds.insert(c.kind());
    planners.insert(c.planner);
  }
  CHECK(kinds.size() == 3);
  CHECK(planners.size() == 7);
}

TEST_CASE("fuzz: every target holds for blind bytes", "[fuzz]") {
  for (const fuzz::Target& target : fuzz::all_targets()) {
    CHECK(fuzz::find_target(target.name) == &target);
    std::mt19937_64 random(11);
    for (int i = 0; i < 2000; ++i) {
      const auto finding = target.run(random_bytes(random));
      if (finding) FAIL(target.name << ": " << finding->input << ": " << finding->what);
    }
  }
  CHECK(fuzz::find_target("nothing") == nullptr);
}

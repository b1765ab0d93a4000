// Claims about drawn claims: which case a failure names, and that its line runs it again.
#include "tests/properties/drawn.hpp"

#include <cstdlib>

#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;
using namespace mla::test;

namespace {

DrawnClaim about(std::function<Outcome(const Case&)> holds) {
  return {"a claim", {Regime::boundary}, 50, std::move(holds), 1, "a section"};
}

// As the environment of a run alone.
Drawn alone(const DrawnClaim& claim, const std::string& line) {
  setenv("MLA_DRAWN_CASE", line.c_str(), 1);
  const Drawn out = draw(claim);
  unsetenv("MLA_DRAWN_CASE");
  return out;
}

Outcome few_heads(const Case& c) {
  return c.heads > 64 ? failed("more than 64 heads") : passed();
}

}  // namespace

TEST_CASE(
    "drawn claims: a failure names a case that no simpler one fails, the seed, and a line "
    "that runs it alone",
    "[drawn]") {
  const Drawn drawn = draw(about(few_heads));
  const Case smallest = case_of(drawn.smallest);
  CHECK(smallest.requests.size() == 1);
  CHECK(few_heads(smallest).verdict == Verdict::fail);
  for (const char* part : {"FAIL mla1:", "\nmore than 64 heads\n", "\nseed 1, case ",
                           "\nREPRO: MLA_DRAWN_CASE='mla1:", "\"a claim\" -c \"a section\""})
    CHECK_THAT(drawn.failure, contains(part));
  CHECK_THAT(drawn.failure, contains(drawn.smallest));
  CHECK(alone(about(few_heads), drawn.smallest).failure == "fail: more than 64 heads");
}

TEST_CASE("drawn claims: a case alone holds only if the claim says something about it", "[drawn]") {
  const std::string line = "mla1:1q1s1;heads=16";
  CHECK(alone(about(few_heads), line).held == 1);
  CHECK(alone(about(few_heads), line).failure.empty());
  const auto silent = about([](const Case&) { return skipped("no such step"); });
  CHECK(alone(silent, line).failure == "skip: no such step");
  CHECK(draw(silent).held == 0);
  CHECK_THAT(alone(silent, "mla1:x").failure, contains("MLA_DRAWN_CASE: "));
}

TEST_CASE("drawn claims: another seed draws other cases, the same one the same", "[drawn]") {
  const auto lines_of = [](const char* seed) {
    std::string lines;
    if (seed != nullptr) setenv("MLA_DRAWN_SEED", seed, 1);
    draw(about([&](const Case& c) {
      lines += format_case(c) + "\n";
      return passed();
    }));
    unsetenv("MLA_DRAWN_SEED");
    return lines;
  };
  CHECK(lines_of("1") == lines_of(nullptr));
  CHECK(lines_of("2") != lines_of(nullptr));
}

// Claims about the shrinker: simpler cases are valid, every chain ends, and it ends small.
#include <algorithm>
#include <set>
#include <string>

#include "properties/generate/cases.hpp"
#include "properties/generate/shrink.hpp"
#include "properties/judge/minimise.hpp"
#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;

namespace {

template <class P>
Minimum shrink(const Case& c, P predicate) {
  REQUIRE(predicate(c));
  return minimise(
      c, failed("as drawn"),
      [&](const Case& x) -> std::optional<Outcome> {
        if (predicate(x)) return failed("still");
        return std::nullopt;
      },
      2000, [] { return false; });
}

std::int64_t keys_in(const Case& c) {
  std::int64_t keys = 0;
  for (const RequestSpec& r : c.requests) keys += r.kv_len;
  return keys;
}

}  // namespace

TEST_CASE("shrinker: candidates differ from the case, read back, and are as valid", "[judge]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Case c = random_case(seed, static_cast<int>(seed % 101));
    for (const Case& simpler : simpler_cases(c)) {
      INFO(format_case(c) << "  to  " << format_case(simpler));
      REQUIRE(simpler != c);
      const auto parsed = parse_case(format_case(simpler));
      REQUIRE(parsed.ok());
      REQUIRE(*parsed == simpler);
      REQUIRE_FALSE(simpler.requests.empty());
      REQUIRE(simpler.block_size % simpler.page_size == 0);
      if (simpler.kind() == StepKind::fa) REQUIRE(simpler.heads % simpler.fa().kv_heads == 0);
      for (const RequestSpec& r : simpler.requests)
        REQUIRE((r.kv_len == 0 || r.kv_len >= r.qo_len));
    }
  }
}

TEST_CASE("shrinker: what always fails ends at the simplest case within 60 steps", "[judge]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Minimum m = shrink(random_case(seed, 100), [](const Case&) { return true; });
    INFO(format_case(m.smallest));
    REQUIRE(m.shrinks <= 60);
    REQUIRE(m.tried <= 200);
    REQUIRE(m.smallest.requests.size() == 1);
    REQUIRE(m.smallest.requests[0].qo_len <= 1);
    REQUIRE(m.smallest.requests[0].kv_len <= 1);
    Case simplest;
    simplest.requests = m.smallest.requests;
    simplest.layout = {Layout::contiguous, 0};
    REQUIRE(m.smallest == simplest);
    REQUIRE(simpler_cases(m.smallest).size() <= 3);
  }
}

TEST_CASE("shrinker: a defect of one request ends with that request at its bound", "[judge]") {
  const auto defect = [](const Case& c) {
    return c.heads > 20 && std::any_of(c.requests.begin(), c.requests.end(),
                                       [](auto& r) { return r.qo_len >= 3 && r.kv_len > 100; });
  };
  const Minimum m = shrink(
      case_of("mla1:12q1s7_1q5s300_20q4s9;heads=112;block=64;arch=gfx950;cu=61;dtype=fp8/fp8;"
              "gran=4;layout=shuffled.9;data=large.3;scale=2/2;spare=7.huge;sched=3;pad=3"),
      defect);
  CHECK(format_case(m.smallest) ==
        "mla1:1q3s101;heads=21;block=1;arch=gfx942;cu=304;dtype=bf16/bf16;gran=16;split=-1;"
        "causal=1;layout=contiguous;data=normal.42");
  CHECK(m.tried < 300);
}

TEST_CASE("shrinker: a defect of a pair ends with the two requests", "[judge]") {
  const auto defect = [](const Case& c) {
    return std::count_if(c.requests.begin(), c.requests.end(),
                         [](auto& r) { return r.kv_len >= 64; }) >= 2;
  };
  for (std::size_t second = 1; second < 40; ++second) {
    Case c = case_of("mla1:40q2s9;heads=32;arch=gfx950");
    c.requests[0].kv_len = 100;
    c.requests[second].kv_len = 70;
    const Minimum m = shrink(c, defect);
    INFO(format_case(m.smallest));
    CHECK(m.smallest.requests == std::vector<RequestSpec>{{1, 64}, {1, 64}});
    CHECK(m.tried < 300);
  }
}

TEST_CASE("shrinker: a defect of a whole batch keeps what it needs and nothing else", "[judge]") {
  const Minimum m = shrink(case_of("mla1:9q2s33_3q1s5;heads=16;cu=5;block=7"),
                           [](const Case& c) { return keys_in(c) >= 200 && c.block_size > 2; });
  CHECK(keys_in(m.smallest) == 200);
  CHECK(m.smallest.block_size == 3);
  CHECK(m.smallest.compute_units == 304);
}

TEST_CASE("shrinker: a defect of a sequence keeps its two steps", "[judge]") {
  const Minimum m =
      shrink(case_of("mla1:4q1s100+4q1s101+2q4s64_1q1s7+1q1s1;heads=8"), [](const Case& c) {
        return !c.later_steps.empty() && keys_in(c) > c.later_steps[0][0].kv_len;
      });
  CHECK(m.smallest.later_steps.size() == 1);
  CHECK(m.smallest.requests.size() == 1);
  CHECK(m.smallest.later_steps[0].size() == 1);
}

TEST_CASE("shrinker: the number of tries is a limit", "[judge]") {
  const Case c = random_case(3, 100);
  const auto always = [](const Case&) -> std::optional<Outcome> { return failed("always"); };
  const auto go_on = [] { return false; };
  CHECK(minimise(c, failed("as drawn"), always, 2, go_on).tried == 2);
  const Minimum none = minimise(c, failed("as drawn"), always, 0, go_on);
  CHECK(none.smallest == c);
  CHECK(none.outcome.message == "as drawn");
}

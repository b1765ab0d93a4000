// Claims about exhaustive enumeration: every case of the bounds, each once.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "properties/generate/cases.hpp"
#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;

TEST_CASE("odometer: later questions may depend on earlier answers", "[judge]") {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  Odometer odometer;
  while (odometer.next()) {
    const std::int64_t a = odometer.between(0, 3);
    pairs.emplace_back(a, a == 2 ? 0 : odometer.between(0, a));
  }
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected{{0, 0}, {1, 0}, {1, 1}, {2, 0},
                                                                    {3, 0}, {3, 1}, {3, 2}, {3, 3}};
  CHECK(pairs == expected);
}

TEST_CASE("odometer: every alternative of a weighted choice comes once", "[judge]") {
  std::vector<std::size_t> picks;
  Odometer odometer;
  while (odometer.next()) picks.push_back(odometer.pick(std::array{100, 1, 7}));
  CHECK(picks == std::vector<std::size_t>{0, 1, 2});
}

TEST_CASE("random choices: weights are followed, ranges are reached at both ends", "[judge]") {
  RandomChoices choices(11);
  std::vector<int> picks(3);
  std::set<std::int64_t> numbers;
  for (int i = 0; i < 3000; ++i) {
    ++picks[choices.pick(std::array{1, 8, 1})];
    numbers.insert(choices.between(-2, 3));
  }
  CHECK(picks[1] > 2000);
  CHECK(picks[0] > 100);
  CHECK(picks[2] > 100);
  CHECK(numbers == std::set<std::int64_t>{-2, -1, 0, 1, 2, 3});
}

TEST_CASE("enumeration: the number of cases is the product formula's, none comes twice",
          "[judge]") {
  const EnumerationBounds bounds{.max_requests = 2,
                                 .max_qo_len = 2,
                                 .max_kv_len = 3,
                                 .heads = {8, 16},
                                 .block_sizes = {1, 2, 3},
                                 .causal = {true, false}};
  std::set<std::string> lines;
  std::int64_t count = 0;
  enumerate_cases(bounds, [&](const Case& c) {
    ++count;
    lines.insert(format_case(c));
    return true;
  });
  // (q, n): 0 rows with 0 to 3 keys, 1 row with 0 to 3, 2 rows with 0, 2 or 3.
  const std::int64_t shapes = 4 + 4 + 3;
  CHECK(count == (shapes + shapes * shapes) * 2 * 3 * 2 * 2 * 2);
  CHECK(count == count_cases(bounds));
  CHECK(static_cast<std::int64_t>(lines.size()) == count);
}

TEST_CASE("enumeration: all cases lie within the bounds and have keys for their rows", "[judge]") {
  const EnumerationBounds bounds{.max_requests = 2, .max_qo_len = 3, .max_kv_len = 4};
  enumerate_cases(bounds, [&](const Case& c) {
    REQUIRE(c.requests.size() <= 2);
    for (const RequestSpec& r : c.requests) {
      REQUIRE(r.qo_len <= 3);
      REQUIRE(r.kv_len <= 4);
      REQUIRE((r.kv_len == 0 || r.kv_len >= r.qo_len));
    }
    return true;
  });
}

TEST_CASE("enumeration: stops when told to", "[judge]") {
  int seen = 0;
  enumerate_cases({}, [&](const Case&) { return ++seen < 5; });
  CHECK(seen == 5);
}

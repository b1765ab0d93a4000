// Claims about the comparison of results: it finds every planted error and names it.
#include <bit>
#include <cmath>
#include <limits>

#include "properties/step/decode/compare.hpp"
#include "properties/step/subject.hpp"
#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;

namespace {

// Two requests with two rows each, 8 heads, cut into pieces by 4 compute units.
struct Fixture {
  Subject subject{case_of("mla1:1q2s40_1q2s70;heads=8;cu=4;gran=1"), cpu_backend(), nullptr};
  DecodeResult result = *subject.result();
  cpu::ReferenceResult reference = *subject.reference();
  Outcome judge() {
    return compare({.result = result,
                    .reference = reference,
                    .metadata = *subject.metadata(),
                    .requests = subject.spec().requests,
                    .heads = 8});
  }
  static std::size_t out_index(std::size_t row, std::size_t head, std::size_t dim) {
    return (row * 8 + head) * 512 + dim;
  }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("compare: a right result passes", "[judge]") {
  CHECK(Fixture().judge().verdict == Verdict::pass);
}

TEST_CASE("compare: one element beyond its bound fails and is named", "[judge]") {
  Fixture f;
  const std::size_t i = Fixture::out_index(2, 3, 17);
  f.reference.out[i] += 30 * f.reference.out_bound[i];
  const Outcome outcome = f.judge();
  REQUIRE(outcome.verdict == Verdict::fail);
  CHECK(contains(outcome.message, "out of request 1 row 0 (row 2 of the batch) head 3 dim 17"));
  CHECK(contains(outcome.message, "wrong are 1 of 16384 elements of out and 0 of 32 of the LSE"));
}

TEST_CASE("compare: an error within the bound passes, twice the bound fails", "[judge]") {
  Fixture f;
  const std::size_t i = Fixture::out_index(0, 0, 0);
  f.reference.out_bound[i] = 1;
  f.reference.out[i] += 0.5;
  CHECK(f.judge().verdict == Verdict::pass);
  f.reference.out[i] += 1.5;
  CHECK(f.judge().verdict == Verdict::fail);
}

TEST_CASE("compare: the worst of several errors is the message, the next four are listed",
          "[judge]") {
  Fixture f;
  for (std::size_t head = 0; head < 8; ++head) {
    const std::size_t i = Fixture::out_index(1, head, 5);
    f.reference.out[i] += (head == 6 ? 900 : 90) * f.reference.out_bound[i];
  }
  const Outcome outcome = f.judge();
  CHECK(contains(outcome.message, "head 6 dim 5"));
  int named = 0;
  for (const std::string& line : outcome.details)
    named += contains(line, "times the bound") ? 1 : 0;
  CHECK(named == 4);
  CHECK(outcome.details[0] ==
        "wrong: 1 of 2 requests, 1 of 4 rows, 8 of 8 heads, 1 of 512 dims; "
        "one request with all heads: lists or plan");
  for (const std::string& line : outcome.details)
    CHECK_FALSE(outcome.message.starts_with(line));  // said once
}

TEST_CASE("compare: some heads of every request are said to be so", "[judge]") {
  Fixture f;
  for (const std::size_t row : {1U, 2U}) f.reference.out[Fixture::out_index(row, 5, 0)] += 1e3;
  const std::string extent = f.judge().details.at(0);
  CHECK(contains(extent, "wrong: 2 of 2 requests, 2 of 4 rows, 1 of 8 heads, 1 of 512 dims"));
  CHECK(contains(extent, "; some heads of every request"));
}

TEST_CASE("compare: a wrong LSE alone is said to be so", "[judge]") {
  Fixture f;
  f.reference.lse[0] += 1;
  CHECK(contains(f.judge().details.at(0), "1 of 8 heads, the LSE alone"));
}

TEST_CASE("compare: one factor that explains the wrong elements is named", "[judge]") {
  Fixture f;
  for (std::size_t d = 0; d < 512; ++d) f.reference.out[Fixture::out_index(1, 4, d)] *= 0.25;
  const std::string before = "one factor explains out: every element of these is ";
  const auto factor = [&] {
    for (const std::string& line : f.judge().details)
      if (line.starts_with(before)) return std::stod(line.substr(before.size()));
    return 0.0;
  };
  CHECK(std::fabs(factor() - 4) < 0.04);
  f.reference.out[Fixture::out_index(1, 4, 7)] += 1e3;
  CHECK(factor() == 0);
}

TEST_CASE("compare: the works that produced the worst element are blamed", "[judge]") {
  Fixture f;
  const std::size_t i = Fixture::out_index(2, 3, 17);
  f.reference.out[i] += 30 * f.reference.out_bound[i];
  int works = 0;
  int merges = 0;
  for (const std::string& line : f.judge().details) {
    works += contains(line, "work ") && contains(line, " on slot ") ? 1 : 0;
    merges += contains(line, "merges into rows [2, 4)") ? 1 : 0;
  }
  CHECK(works >= 2);
  CHECK(merges == 1);
}

TEST_CASE("compare: masks come before any error", "[judge]") {
  Fixture f;
  const std::size_t wrong = Fixture::out_index(0, 0, 1);
  f.reference.out[wrong] += 1e6;
  SECTION("an element that was never written") {
    f.result.out[Fixture::out_index(3, 7, 511)] = kPoisonBf16;
    CHECK(contains(f.judge().message, "row 1 (row 3 of the batch) head 7 dim 511 was never"));
  }
  SECTION("NaN") {
    f.result.out[Fixture::out_index(3, 7, 511)] = 0x7FC0;
    CHECK(contains(f.judge().message, "head 7 dim 511 is NaN"));
  }
  SECTION("an LSE that is infinite") {
    f.result.lse[31] = -std::numeric_limits<float>::infinity();
    CHECK(
        contains(f.judge().message, "LSE of request 1 row 1 (row 3 of the batch) head 7 is -inf"));
  }
  SECTION("an LSE that was never written") {
    f.result.lse[8] = std::bit_cast<float>(kPoisonF32);
    CHECK(contains(f.judge().message, "LSE of request 0 row 1 (row 1 of the batch) head 0 was"));
  }
}

TEST_CASE("compare: equal infinities match, opposite ones do not", "[judge]") {
  Fixture f;
  const float inf = std::numeric_limits<float>::infinity();
  f.reference.lse[0] = -static_cast<double>(inf);
  f.reference.lse_bound[0] = 0;
  f.result.lse[0] = -inf;
  CHECK(f.judge().verdict == Verdict::pass);
  f.result.lse[0] = inf;
  CHECK(f.judge().verdict == Verdict::fail);
}

TEST_CASE("compare: without an LSE to compare, the output is compared", "[judge]") {
  Fixture f;
  f.reference.lse.clear();
  f.result.lse.clear();
  CHECK(f.judge().verdict == Verdict::pass);
  f.result.out[Fixture::out_index(3, 7, 511)] = 0x7FC0;
  CHECK(f.judge().verdict == Verdict::fail);
}

TEST_CASE("compare: a fault fails although every element is right", "[judge]") {
  Fixture f;
  f.result.faults.push_back({"a canary is damaged", 3, 1});
  const Outcome outcome = f.judge();
  CHECK(outcome.verdict == Verdict::fail);
  CHECK(contains(outcome.message, "a canary is damaged"));
}

TEST_CASE("compare: results of another size fail", "[judge]") {
  Fixture f;
  f.result.out.pop_back();
  CHECK(contains(f.judge().message, "16383"));
}

TEST_CASE("bitwise difference: equal results have none, one bit has coordinates", "[judge]") {
  Fixture f;
  DecodeResult other = f.result;
  CHECK(bitwise_equal(f.result, other, 8));
  other.out[Fixture::out_index(3, 2, 9)] ^= 1U;
  const auto difference = bitwise_difference(f.result, other, 8);
  REQUIRE(difference.has_value());
  CHECK(contains(*difference, "of row 3"));
  CHECK(contains(*difference, "head 2 dim 9"));
  CHECK_FALSE(bitwise_equal(f.result, other, 8));
}

TEST_CASE("bitwise difference: only the rows asked for are compared, across an offset", "[judge]") {
  Fixture f;
  DecodeResult shifted = f.result;  // rows 1..3 of the original
  shifted.out.erase(shifted.out.begin(), shifted.out.begin() + 8 * 512);
  shifted.lse.erase(shifted.lse.begin(), shifted.lse.begin() + 8);
  const MatchedRows rows{.first_a = 1, .first_b = 0, .count = 3};
  CHECK_FALSE(bitwise_difference(f.result, shifted, 8, {&rows, 1}).has_value());
  shifted.lse[23] = 7;
  CHECK(bitwise_difference(f.result, shifted, 8, {&rows, 1}).has_value());
  const MatchedRows first_two{.first_a = 1, .first_b = 0, .count = 2};
  CHECK_FALSE(bitwise_difference(f.result, shifted, 8, {&first_two, 1}).has_value());
  const MatchedRows beyond{.first_a = 1, .first_b = 0, .count = 4};
  CHECK(bitwise_difference(f.result, shifted, 8, {&beyond, 1}).has_value());
}

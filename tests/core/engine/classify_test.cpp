// Claims about the classification of a step.
#include "core/engine/classify.hpp"

#include <numeric>

#include "tests/catch.hpp"

using namespace mla;

namespace {

DecodeSplit split(const std::vector<std::int64_t>& q, std::int64_t threshold, bool uniform,
                  std::int64_t rows = 0) {
  return split_decodes_and_prefills(
      {.qo_lens = q, .threshold = threshold, .require_uniform = uniform, .num_rows = Rows(rows)});
}

}  // namespace

TEST_CASE("classify: the examples of the engine's own tests", "[builder][P26]") {
  const DecodeSplit a = split({2, 2, 1, 3, 2, 1, 2}, 3, true);
  CHECK(a.decodes == Requests(2));
  CHECK(a.decode_rows == Rows(4));
  CHECK(a.prefills == Requests(5));
  CHECK(a.prefill_rows == Rows(9));
  const DecodeSplit b = split({2, 2, 2, 0}, 3, true, 8);
  CHECK(b.decodes == Requests(4));
  CHECK(b.decode_rows == Rows(8));
  CHECK(b.uniform);
  const DecodeSplit c = split({1, 1, 4, 1}, 1, false);
  CHECK(c.decodes == Requests(2));
  CHECK(c.prefills == Requests(2));
}

TEST_CASE("classify: lengths that divide evenly are not uniform", "[builder][P26][BUG-016]") {
  CHECK_FALSE(split({1, 2, 3}, 3, false).uniform);
  CHECK(split({2, 2, 2}, 3, false).uniform);
}

TEST_CASE("classify: padding to another rank's shape is ragged, not an abort",
          "[builder][P26][BUG-018]") {
  const DecodeSplit s = split({2, 2, 0}, 3, true, 8);
  CHECK(s.decodes == Requests(3));
  CHECK(s.decode_rows == Rows(8));
  CHECK_FALSE(s.uniform);
}

TEST_CASE("classify: a prefill as short as a decode stays a prefill", "[builder][P26][BUG-017]") {
  const std::vector<StepRequest> step{{4, 0}, {1, 100}, {4, 0}, {4, 60}, {9, 30}};
  CHECK(region_of(step[0], 4) == Region::prefill);
  CHECK(region_of(step[3], 4) == Region::decode);
  CHECK(region_of(step[4], 4) == Region::extend);
  CHECK(decode_first_order(step, 4) == std::vector<std::size_t>{1, 3, 4, 0, 2});
}

TEST_CASE("classify: thresholds of drafting schemes", "[builder][P26]") {
  CHECK(reorder_threshold({.backend_threshold = 1, .speculative_tokens = 7}) == 8);
  CHECK(reorder_threshold({.speculative_tokens = 3, .parallel_drafting = true}) == 7);
  CHECK(reorder_threshold({.backend_threshold = 4, .speculative_tokens = 1}) == 4);
  CHECK(reorder_threshold({.speculative_tokens = 3, .single_row_only = true}) == 1);
  CHECK(reorder_threshold({.speculative_tokens = 3, .context_parallel = true}) == 1);
  CHECK(reorder_threshold(
            {.speculative_tokens = 3, .context_parallel = true, .context_parallel_rows = true}) ==
        4);
  CHECK(reorder_threshold(
            {.backend_threshold = 2, .speculative_tokens = 3, .speculation_as_decode = false}) ==
        2);
}

TEST_CASE("classify: requests and rows add up for every small step", "[builder][P26]") {
  for (int code = 0; code < 5 * 5 * 5 * 5; ++code) {
    const std::vector<std::int64_t> q{code % 5, code / 5 % 5, code / 25 % 5, code / 125};
    const std::int64_t sum = std::accumulate(q.begin(), q.end(), std::int64_t{0});
    for (std::int64_t threshold = 1; threshold <= 4; ++threshold)
      for (const bool uniform : {false, true}) {
        const DecodeSplit s = split(q, threshold, uniform, sum);
        REQUIRE((s.decodes + s.prefills).count() == 4);
        REQUIRE((s.decode_rows + s.prefill_rows).count() == sum);
        for (std::int64_t r = 0; r < s.decodes.count(); ++r)
          REQUIRE(q[static_cast<std::size_t>(r)] <= threshold);
      }
  }
}

namespace {

ThreeWaySplit three(const std::vector<std::int64_t>& q, const std::vector<std::int64_t>& kv,
                    std::int64_t threshold, std::int64_t rows = 0) {
  return split_decodes_prefills_and_extends(
      {.qo_lens = q, .kv_lens = kv, .threshold = threshold, .num_rows = Rows(rows)});
}

}  // namespace

TEST_CASE("classify: decodes, extends and prefills follow each other", "[builder][P26]") {
  const ThreeWaySplit s = three({1, 1, 6, 4, 5, 9}, {30, 7, 10, 40, 5, 9}, 1);
  CHECK(s == ThreeWaySplit{.decodes = Requests(2),
                           .extends = Requests(2),
                           .prefills = Requests(2),
                           .decode_rows = Rows(2),
                           .extend_rows = Rows(10),
                           .prefill_rows = Rows(14)});
}

TEST_CASE("classify: a step of decodes is split without a single KV length",
          "[builder][P21][P26]") {
  const ThreeWaySplit s = three({1, 4, 0, 2}, {}, 4, 12);
  CHECK(s.decodes == Requests(4));
  CHECK(s.decode_rows == Rows(12));
  CHECK(s.extends + s.prefills == Requests(0));
}

TEST_CASE("classify: equal prefill chunks above the threshold are no decodes",
          "[builder][P26][BUG-017]") {
  CHECK(three({4, 4}, {4, 4}, 3).prefills == Requests(2));
  CHECK(three({4, 4}, {8, 8}, 3).extends == Requests(2));
}

TEST_CASE("classify: a short prefill belongs to the run that it stands in", "[builder][P26]") {
  // After an extend the region order puts prefills, short ones too.
  CHECK(three({1, 6, 1, 8}, {30, 10, 1, 8}, 1).extends == Requests(2));
  CHECK(three({1, 8, 1}, {30, 8, 1}, 1).prefills == Requests(2));
  CHECK(three({1, 1, 8}, {30, 1, 8}, 1).decodes == Requests(2));
}

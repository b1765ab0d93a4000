// Claims about random cases: valid, canonical, within their budget, and covering every field.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "core/shape/resolved_shape.hpp"
#include "properties/generate/cases.hpp"
#include "properties/generate/cost.hpp"
#include "properties/generate/row_widths.hpp"
#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;

namespace {

constexpr int kCases = 6000;

void for_each_random(const std::function<void(const Case&, int size)>& visit) {
  for (int i = 0; i < kCases; ++i)
    visit(random_case(static_cast<std::uint64_t>(i), i % 101), i % 101);
}

bool valid(const RequestSpec& r) {
  return r.qo_len >= 0 && r.kv_len >= 0 && (r.kv_len == 0 || r.kv_len >= r.qo_len);
}

}  // namespace

TEST_CASE("random cases: every line reads back to its case", "[judge]") {
  for_each_random([](const Case& c, int) {
    const auto parsed = parse_case(format_case(c));
    INFO(format_case(c));
    REQUIRE(parsed.ok());
    REQUIRE(*parsed == c);
  });
}

TEST_CASE(
    "random widths: half of the decode cases have possible other ones, the rest of a case stays",
    "[judge]") {
  std::map<std::string, int> seen;
  int decode = 0;
  for (std::int64_t i = 0; i < 8000; ++i) {
    const Case before = random_case(7, static_cast<int>(i % 101));
    Case c = before;
    draw_widths(c, 7, i);
    INFO(format_case(c));
    const auto parsed = parse_case(format_case(c));
    REQUIRE(parsed.ok());
    REQUIRE(*parsed == c);
    if (c.kind() != StepKind::decode) {
      REQUIRE(c == before);
      continue;
    }
    ++decode;
    REQUIRE(impossible(c.widths()).empty());
    ++seen[text_of(c.widths())];
    c.decode().latent = before.decode().latent;
    c.decode().rope = before.decode().rope;
    c.decode().value = before.decode().value;
    REQUIRE(c == before);
  }
  for (const char* of_a_model : {"512 + 0", "448 + 64", "448 + 64 with values of 512", "256 + 64"})
    CHECK(seen[of_a_model] > 200);
  CHECK(seen["512 + 64"] > decode * 2 / 5);
  CHECK(seen["512 + 64"] < decode * 3 / 5);
  CHECK(seen.size() > 100);
}

TEST_CASE("random cases: keys are none or at least as many as rows, blocks hold whole pages",
          "[judge]") {
  for_each_random([](const Case& c, int) {
    INFO(format_case(c));
    REQUIRE_FALSE(c.requests.empty());
    REQUIRE(std::all_of(c.requests.begin(), c.requests.end(), valid));
    for (const auto& step : c.later_steps) REQUIRE(std::all_of(step.begin(), step.end(), valid));
    REQUIRE(c.block_size % c.page_size == 0);
    if (c.kind() == StepKind::fa) REQUIRE(c.heads % c.fa().kv_heads == 0);
    REQUIRE(make_batch(c).ok());
  });
}

TEST_CASE("random cases: the cost stays within the budget, but for one least request", "[judge]") {
  for_each_random([](const Case& c, int size) {
    INFO(format_case(c));
    const std::int64_t least = request_cost({1, 1}, kMaxHeads);
    REQUIRE(cost_of(c) <= std::max(budget_of(size), least));
  });
}

TEST_CASE("random cases: at most a quarter is refused", "[judge]") {
  int refused = 0;
  for_each_random([&](const Case& c, int) {
    const auto batch = make_batch(c);
    refused += batch.ok() && resolve_shape(c, *batch).ok() ? 0 : 1;
  });
  CHECK(refused > 0);  // a generator that never leaves the easy part is no generator
  CHECK(refused < kCases / 4);
}

TEST_CASE("random cases: a seed gives one case, other seeds other ones", "[judge]") {
  CHECK(random_case(5, 50) == random_case(5, 50));
  std::set<std::string> lines;
  for_each_random([&](const Case& c, int) { lines.insert(format_case(c)); });
  CHECK(lines.size() > kCases * 99 / 100);
}

TEST_CASE("random cases: every value of every field and every boundary comes", "[judge]") {
  std::map<std::string, int> seen;
  const auto count = [&seen](const std::string& field, const auto& value) {
    if constexpr (std::is_convertible_v<decltype(value), std::string_view>)
      ++seen[field + "=" + std::string(value)];
    else
      ++seen[field + "=" + std::to_string(value)];
  };
  for_each_random([&](const Case& c, int) {
    count("kind", name(c.kind()));
    count("arch", name(c.arch));
    count("dtype", std::string(name(c.dtype.q)) + "/" + std::string(name(c.dtype.kv)));
    count("layout", name(c.layout.kind));
    count("data", name(c.data.kind));
    count("planner", name(c.planner));
    count("page", c.page_size);
    count("heads", c.heads);
    count("cu", c.compute_units);
    count("causal", c.causal ? 1 : 0);
    count("pad", c.pad_requests);
    count("odd block", c.block_size > 1 && c.block_size % 2 == 1 ? 1 : 0);
    if (c.kind() == StepKind::decode) {
      const DecodeSpec& decode = c.decode();
      if (decode.spare.entries > 0) count("fill", name(decode.spare.fill));
      count("gran", decode.granularity);
      count("split", decode.max_split);
      count("lse", decode.need_lse ? 1 : 0);
      count("scaled", decode.kv_scale != 1 || decode.q_scale != 1 ? 1 : 0);
    }
    count("scheduled", c.schedule_seed != 0 ? 1 : 0);
    count("later steps", c.later_steps.size());
    count("origin beyond 2^24 tokens", c.origin_block * c.block_size > (1 << 24) ? 1 : 0);
    count("ragged",
          std::any_of(c.requests.begin(), c.requests.end(),
                      [&](const RequestSpec& r) { return r.qo_len != c.requests[0].qo_len; })
              ? 1
              : 0);
    count("32 requests", c.requests.size() >= 32 ? 1 : 0);
    for (const RequestSpec& r : c.requests) {
      count("q", r.qo_len);
      count("n", r.kv_len);
      count("n is q", r.kv_len == r.qo_len ? 1 : 0);
      count("n at a block",
            c.block_size > 8 && r.kv_len > 0 && r.kv_len % c.block_size == 0 ? 1 : 0);
      count("n after a block", c.block_size > 8 && r.kv_len % c.block_size == 1 ? 1 : 0);
      count("n long", r.kv_len > 1000 ? 1 : 0);
    }
  });
  const auto expect = [&](const std::string& field, const std::vector<std::string>& values) {
    for (const std::string& value : values) {
      INFO(field << "=" << value);
      CHECK(seen[field + "=" + value] > 0);
    }
  };
  expect("kind", {"decode", "prefill", "fa"});
  expect("arch", {"gfx942", "gfx950"});
  expect("dtype", {"bf16/bf16", "fp8/fp8", "bf16/fp8", "fp8/bf16"});
  expect("layout", {"contiguous", "shuffled", "interleaved", "descending", "prefix"});
  expect("data", {"normal", "spiky", "large", "constant", "onehot"});
  expect("planner", {"auto", "v12", "v12serial", "v12parallel", "v11", "v10", "none"});
  expect("fill", {"minus1", "stale", "random", "huge"});
  expect("page", {"1", "16", "64"});
  expect("heads", {"1", "4", "7", "8", "12", "16", "17", "24", "32", "48", "64", "127", "128"});
  expect("cu", {"1", "2", "7", "13", "61", "64", "80", "256", "303", "304"});
  expect("gran", {"1", "2", "4", "8", "16", "32", "64", "128"});
  expect("split", {"-1", "1", "2", "3", "4", "8", "32", "64"});
  expect("pad", {"0", "1", "2", "3", "5"});
  expect("later steps", {"0", "1", "2", "3"});
  expect("q", {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "13", "16", "17"});
  expect("n", {"0", "1", "15", "16", "17", "63", "64", "65", "127", "128", "129"});
  for (const char* flag :
       {"causal", "lse", "odd block", "scaled", "scheduled", "origin beyond 2^24 tokens", "ragged",
        "32 requests", "n is q", "n at a block", "n after a block", "n long"})
    expect(flag, {"0", "1"});
}

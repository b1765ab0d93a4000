// Claims about the prefill planner.
#include "core/plan/ps_prefill.hpp"

#include <map>
#include <random>

#include "tests/catch.hpp"
#include "tests/core/plan/batches.hpp"

using mla::ComputeUnits;
using mla::Heads;
using mla::plan::Fidelity;
using mla::plan::PsInput;
using mla::plan_test::Batch;
using mla::plan_test::Lengths;
using mla::plan_test::shown;
using mla::plan_test::used;
using mla::test::contains;
using Words = std::vector<std::int32_t>;

namespace {

// Rows and context lengths by request; pages hold 16 tokens.
struct Prefill {
  Words qo_indptr = {0};
  Words kv_indptr = {0};
  Words context_lens;
  PsInput input;

  Prefill(const Words& rows, const Words& contexts) : context_lens(contexts) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      qo_indptr.push_back(qo_indptr.back() + rows[r]);
      kv_indptr.push_back(kv_indptr.back() + (contexts[r] + 15) / 16);
    }
    input.qo_indptr = qo_indptr;
    input.kv_indptr = kv_indptr;
    input.context_lens = context_lens;
    input.qlen_granularity = 32;
  }
  Prefill(const Prefill&) = delete;
  Prefill& operator=(const Prefill&) = delete;

  [[nodiscard]] mla::Result<mla::plan::Plan> make() const {
    std::int64_t longest = 1;
    for (std::size_t r = 1; r < qo_indptr.size(); ++r)
      longest = std::max<std::int64_t>(longest, qo_indptr[r] - qo_indptr[r - 1]);
    const auto sizes = mla::plan::query_ps_sizes(
        {.compute_units = input.compute_units,
         .batch = mla::Requests(static_cast<std::int64_t>(context_lens.size())),
         .kv_heads = input.kv_heads,
         .max_qo_len = longest,
         .qlen_granularity = std::max<std::int64_t>(input.qlen_granularity, 1)});
    return plan_ps_prefill(input, sizes.ok() ? *sizes : mla::plan::BufferSizes{});
  }
  [[nodiscard]] std::string refusal() const {
    const auto plan = make();
    return plan.ok() ? "planned" : plan.error().message;
  }
};

}  // namespace

TEST_CASE("prefill planner: two tiles on three slots, the long one in front split", "[plan][ps]") {
  Prefill batch({64}, {64});
  batch.input.compute_units = ComputeUnits(3);
  const auto plan = batch.make();
  REQUIRE(plan.ok());
  // Tile 0 sees 32 keys, tile 1 all 64: 6 units of 16, 2 for each slot.
  CHECK(shown(*plan) == "[0 -1 0 32 0 2 0] [0 0 32 64 0 2 32] [0 32 32 64 2 4 0] ");
  CHECK(used(plan->work_indptr) == Words{0, 1, 2, 3});
  CHECK(plan->reduce_final_map.at(0) == 32);
  CHECK(plan->reduce_final_map.at(1) == 64);
  CHECK(plan->reduce_indptr.at(1) == 2);
  CHECK(plan->reduce_indptr.at(2) == 2);
  CHECK(plan->reduce_partial_map.at(1) == 32);
  CHECK(plan->work(0).heads == 1 << 16);
}

TEST_CASE("prefill planner: heads share slots when they do not divide the device", "[plan][ps]") {
  Prefill batch({20}, {40});
  batch.input.compute_units = ComputeUnits(4);
  batch.input.kv_heads = Heads(6);
  batch.input.qhead_granularity = 8;
  const auto plan = batch.make();
  REQUIRE(plan.ok());
  // gcd(6, 4) = 2 groups of 2 slots, 3 heads each; 3 units go 2 and 1.
  CHECK(used(plan->work_indptr) == Words{0, 3, 6, 9, 12});
  Words first_heads;
  for (std::int64_t w = 0; w < plan->works(); ++w)
    first_heads.push_back(plan->work(w).first_head());
  CHECK(first_heads == Words{0, 8, 16, 0, 8, 16, 24, 32, 40, 24, 32, 40});
}

TEST_CASE("prefill planner: every tile's pieces cover its pages once, in order",
          "[plan][ps][P05]") {
  std::mt19937_64 engine(5);
  const auto between = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(engine);
  };
  for (int round = 0; round < 1000; ++round) {
    Words rows;
    Words contexts;
    for (int r = between(1, 6); r > 0; --r) {
      rows.push_back(between(0, 200));
      contexts.push_back(rows.back() + between(0, 500));
    }
    Prefill batch(rows, contexts);
    batch.input.compute_units = ComputeUnits(between(1, 90));
    batch.input.causal = between(0, 1) == 1;
    const auto plan = batch.make();
    INFO("round " << round);
    REQUIRE(plan.ok());
    std::map<std::int32_t, std::int32_t> covered;  // by first row: pages so far
    for (std::int64_t w = 0; w < plan->works(); ++w) {
      const auto item = plan->work(w);
      const auto r = static_cast<std::size_t>(item.batch);
      REQUIRE(item.kv_begin == batch.kv_indptr[r] + covered[item.q_begin]);
      covered[item.q_begin] += item.kv_end - item.kv_begin;
    }
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (std::int32_t q = 0; q < rows[r]; q += 32) {
        const std::int32_t last = std::min(q + 32, rows[r]);
        const std::int32_t seen = batch.input.causal ? contexts[r] - rows[r] + last : contexts[r];
        REQUIRE(covered[batch.qo_indptr[r] + q] == (seen + 15) / 16);
      }
  }
}

TEST_CASE("prefill planner: what it cannot plan is refused with its value", "[plan][ps]") {
  Prefill batch({64, 10}, {64, 30});
  SECTION("granularities") {
    batch.input.kvlen_granularity = 48;
    CHECK_THAT(batch.refusal(), contains("kvlen_granularity is 48"));
    batch.input.kvlen_granularity = 8;
    CHECK_THAT(batch.refusal(), contains("multiple of block_size = 16"));
    batch.input.qlen_granularity = 0;
    CHECK_THAT(batch.refusal(), contains("qlen_granularity is 0"));
  }
  SECTION("fewer keys than rows") {
    batch.context_lens[1] = 9;
    CHECK_THAT(batch.refusal(), contains("request 1 has n = 9 keys for q = 10"));
    batch.input.causal = false;
    CHECK(batch.refusal() == "planned");
    batch.context_lens[1] = 0;
    CHECK_THAT(batch.refusal(), contains("request 1 has n = 0 keys"));
  }
  SECTION("fewer pages than keys") {
    batch.context_lens[1] = 33;
    CHECK_THAT(batch.refusal(), contains("33 keys but only 2 pages of 16"));
  }
  SECTION("pages that no key is in") {
    batch.kv_indptr[2] += 2;
    CHECK_THAT(batch.refusal(), contains("request 1 has 30 keys but 4 pages of 16: the kernel"));
    // Without a mask they do no harm where units of keys end before them.
    batch.input.causal = false;
    CHECK(batch.refusal() == "planned");
    batch.input.kvlen_granularity = 64;
    CHECK_THAT(batch.refusal(), contains("4 pages of 16: units of 64 keys reach 4 of them"));
    batch.kv_indptr[2] += 1;
    CHECK_THAT(batch.refusal(), contains("5 pages of 16: units of 64 keys reach 4 of them"));
    batch.input.fidelity = Fidelity::as_aiter;
    CHECK(batch.refusal() == "planned");
  }
  SECTION("lists of different batches") {
    batch.input.context_lens = batch.input.context_lens.first(1);
    CHECK_THAT(batch.refusal(), contains("context_lens 1"));
  }
  SECTION("falling lists") {
    batch.qo_indptr[2] = 60;
    CHECK_THAT(batch.refusal(), contains("request 1 has a negative number"));
  }
}

TEST_CASE("prefill planner: rows without keys at the end of the batch are lost as AITER loses them",
          "[plan][ps][BUG-075]") {
  Prefill batch({16, 4}, {16, 0});
  batch.input.fidelity = Fidelity::as_aiter;
  const auto plan = batch.make();
  REQUIRE(plan.ok());
  for (std::int64_t w = 0; w < plan->works(); ++w) CHECK(plan->work(w).batch == 0);
}

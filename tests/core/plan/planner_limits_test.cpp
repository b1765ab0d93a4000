// Claims about planners at the numbers where their rules change.
#include "core/plan/ps_prefill.hpp"
#include "tests/catch.hpp"
#include "tests/core/plan/batches.hpp"

using mla::Arch;
using mla::ComputeUnits;
using mla::Heads;
using mla::plan::Fidelity;
using mla::plan::PlannerVersion;
using mla::plan_test::all;
using mla::plan_test::Batch;
using mla::plan_test::shown;
using mla::test::contains;
using Words = std::vector<std::int32_t>;

namespace {

// Where the pieces of one request of `keys` keys end, on as many slots.
Words piece_ends(PlannerVersion version, std::int64_t keys, std::int64_t slots,
                 std::int64_t cap = -1, std::int64_t requests = 1) {
  Batch batch(all(static_cast<std::size_t>(requests), keys),
              all(static_cast<std::size_t>(requests), 1));
  batch.input.version = version;
  batch.input.key.compute_units = ComputeUnits(slots);
  batch.input.max_split_per_batch = cap;
  if (version == PlannerVersion::v1_0) batch.input.key.arch = Arch::gfx950;
  const auto plan = batch.make();
  INFO((plan.ok() ? std::string() : plan.error().message));
  REQUIRE(plan.ok());
  Words ends;
  for (std::int64_t w = 0; w < plan->works(); ++w)
    if (plan->work(w).batch == 0) ends.push_back(plan->work(w).kv_end);
  return ends;
}

}  // namespace

TEST_CASE("planner v1.1: the pages of a slot change above an average of 8, 16, 32 and 64",
          "[plan]") {
  // A piece costs 32 for 16 packed rows and 1 a page, of which the average leaves out 2 for the
  // request. Ten slots: 30 + keys cost 10 times the average, rounded up. A slot takes 32, 64, 128
  // or 192 pages, then as many as the average; 16 or less that are left join the piece before.
  const auto ends = [](std::int64_t keys) { return piece_ends(PlannerVersion::v1_1, keys, 10); };
  CHECK(ends(50) == Words{32, 50});
  CHECK(ends(51) == Words{51});
  CHECK(ends(130) == Words{64, 130});
  CHECK(ends(131) == Words{131});
  CHECK(ends(290) == Words{128, 256, 290});
  CHECK(ends(291) == Words{192, 291});
  CHECK(ends(610) == Words{192, 384, 576, 610});
  CHECK(ends(611) == Words{64, 128, 192, 256, 320, 384, 448, 512, 576, 611});
}

TEST_CASE("planner v1.0: gfx950 cuts once for every 196 keys, within slots and cap", "[plan]") {
  const auto ends = [](std::int64_t keys, std::int64_t slots, std::int64_t cap,
                       std::int64_t requests) {
    return piece_ends(PlannerVersion::v1_0, keys, slots, cap, requests);
  };
  CHECK(ends(196, 80, 16, 1) == Words{196});
  CHECK(ends(391, 80, 16, 1) == Words{391});
  CHECK(ends(392, 80, 16, 1) == Words{208, 392});  // 25 blocks of 16 keys: 13 and 12
  CHECK(ends(980, 80, 3, 1) == Words{336, 672, 980});
  CHECK(ends(980, 3, 16, 2) == Words{496, 980});  // 2 of 3 slots, rounded up
  CHECK(ends(980, 4, 16, 2) == Words{496, 980});
  CHECK(ends(980, 5, 16, 2) == Words{336, 672, 980});
  Batch short_request({195}, {1});
  short_request.input.version = PlannerVersion::v1_0;
  short_request.input.key.arch = Arch::gfx950;
  short_request.input.max_split_per_batch = 16;
  CHECK_THAT(short_request.refusal(), contains("gives it 0 splits"));
}

TEST_CASE("planner v1.2: scratch memory holds rows and lengths of 8192 ragged requests on gfx942",
          "[plan][P32]") {
  const auto refusal = [](std::size_t requests) {
    std::vector<std::int64_t> rows = all(requests, 1);
    rows[0] = 2;
    Batch batch(all(requests, 5), rows);
    return batch.refusal();
  };
  CHECK(refusal(8192) == "planned");
  CHECK(refusal(8193) == "planned");  // without the lengths
  CHECK(refusal(16384) == "planned");
  CHECK_THAT(refusal(16385), contains("the lengths of 16385 planning requests take 65540 bytes"));
}

TEST_CASE("planner v1.2: what a list starts at is subtracted while the lengths fit scratch memory",
          "[plan]") {
  const auto first_end = [](std::size_t requests, std::int64_t uniform) {
    Batch batch(all(requests, 5), all(requests, 2));
    batch.input.uniform_qo_len = uniform;
    batch.input.fidelity = Fidelity::as_aiter;
    for (std::int32_t& i : batch.kv_indptr) i += 7;
    const auto plan = batch.make();
    REQUIRE(plan.ok());
    return plan->work(0).kv_end;
  };
  CHECK(first_end(8192, -1) == 5);
  CHECK(first_end(8193, -1) == 12);
  CHECK(first_end(16384, 2) == 5);
}

TEST_CASE("prefill planner: a last unit ends with the pages of its request", "[plan][ps]") {
  const Words qo_indptr{0, 20, 30};
  const Words kv_indptr{0, 3, 8};  // pages of 16 keys
  const Words context_lens{40, 70};
  mla::plan::PsInput input{
      .qo_indptr = qo_indptr, .kv_indptr = kv_indptr, .context_lens = context_lens};
  input.compute_units = ComputeUnits(1);
  input.qlen_granularity = 32;
  input.kvlen_granularity = 64;  // 4 pages: units reach pages 4 and 11
  const auto sizes = mla::plan::query_ps_sizes({.compute_units = input.compute_units,
                                                .batch = mla::Requests(2),
                                                .kv_heads = input.kv_heads,
                                                .max_qo_len = 20,
                                                .qlen_granularity = 32});
  REQUIRE(sizes.ok());
  const auto plan = mla::plan::plan_ps_prefill(input, *sizes);
  REQUIRE(plan.ok());
  CHECK(shown(*plan) == "[0 -1 0 20 0 3 0] [1 -1 20 30 3 8 0] ");
}

// Claims about plans small enough to check by hand.
#include "tests/catch.hpp"
#include "tests/core/plan/batches.hpp"

using mla::ComputeUnits;
using mla::Dtype;
using mla::Heads;
using mla::plan::Fidelity;
using mla::plan::kPoison;
using mla::plan::PlannerVersion;
using mla::plan::V12Kernel;
using mla::plan::WorkItem;
using mla::plan_test::all;
using mla::plan_test::Batch;
using mla::plan_test::shown;
using mla::plan_test::used;
using Words = std::vector<std::int32_t>;

TEST_CASE("planner v1.2: four requests on four slots", "[plan]") {
  const V12Kernel kernel = GENERATE(V12Kernel::serial, V12Kernel::parallel);
  Batch batch({100, 700, 1, 300}, all(4, 1));
  batch.input.key.compute_units = ComputeUnits(4);
  batch.input.kernel = kernel;
  const auto plan = batch.make();
  REQUIRE(plan.ok());
  CHECK(used(plan->work_indptr) == Words{0, 2, 3, 5, 6});
  CHECK(shown(*plan) ==
        "[0 -1 0 1 0 100 0] [1 0 1 2 100 276 524] [1 1 1 2 276 800 0] [2 -1 2 3 800 801 0] "
        "[3 2 3 4 801 1073 28] [3 3 3 4 1073 1101 0] ");
  CHECK(used(plan->reduce_indptr) == Words{0, 0, 2, 2, 4});
  CHECK(used(plan->reduce_final_map) == Words{kPoison, kPoison, 1, 2, kPoison, kPoison, 3, 4});
  CHECK(used(plan->reduce_partial_map) == Words{0, 1, 2, 3});
}

TEST_CASE("planner v1.2: a partial slab holds all rows of its tile", "[plan]") {
  Batch batch({1000, 35}, all(2, 3));
  batch.input.key.compute_units = ComputeUnits(4);
  const auto plan = batch.make();
  REQUIRE(plan.ok());
  Words rows;
  for (std::int64_t w = 0; w < plan->works(); ++w) rows.push_back(plan->work(w).partial_row);
  CHECK(rows == Words{0, 3, 6, -1});
}

TEST_CASE("planner v1.2: an early tile stops before the keys that none of its rows sees",
          "[plan]") {
  Batch batch({200}, all(1, 2));
  batch.input.key.heads_per_kv_head = Heads(128);
  batch.input.key.dtype = {Dtype::fp8, Dtype::fp8};
  batch.input.key.compute_units = ComputeUnits(4);
  const auto plan = batch.make();
  REQUIRE(plan.ok());
  REQUIRE(plan->works() >= 2);
  std::vector<WorkItem> last_of_row(2);
  for (std::int64_t w = 0; w < plan->works(); ++w)
    last_of_row[static_cast<std::size_t>(plan->work(w).q_begin)] = plan->work(w);
  CHECK(last_of_row[0].kv_end == 199);
  CHECK(last_of_row[0].kv_offset == 1);
  CHECK(last_of_row[1].kv_end == 200);
  CHECK(last_of_row[1].kv_offset == 0);
}

TEST_CASE("planner v1.2: one long request fills 256 of 304 slots with 32 tokens each", "[plan]") {
  Batch batch({8192}, all(1, 1));
  const auto plan = batch.make();
  REQUIRE(plan.ok());
  REQUIRE(plan->works() == 256);
  for (std::int64_t w = 0; w < 256; ++w) {
    CHECK(plan->work(w).kv_begin == 32 * w);
    CHECK(plan->work(w).kv_end == 32 * (w + 1));
    CHECK(plan->work_indptr.at(w + 1) == w + 1);
  }
  CHECK(plan->work_indptr.at(304) == 256);
}

TEST_CASE("planner v1.2: the parallel kernel loses an empty request after a full slot",
          "[plan][BUG-074]") {
  Batch batch({64, 0}, all(2, 1));
  batch.input.key.compute_units = ComputeUnits(80);
  const auto parallel = batch.make();
  REQUIRE(parallel.ok());
  batch.input.kernel = V12Kernel::serial;
  const auto serial = batch.make();
  REQUIRE(serial.ok());
  CHECK(serial->works() == parallel->works() + 1);
  CHECK(serial->work(parallel->works()) ==
        WorkItem{.batch = 1, .q_begin = 1, .q_end = 2, .kv_begin = 64, .kv_end = 64});
}

TEST_CASE("planner v1.2: folded heads take the last page of their request", "[plan]") {
  Batch batch({70, 100}, all(2, 1), 64);
  batch.input.key.heads_per_kv_head = Heads(64);
  batch.input.key.compute_units = ComputeUnits(7);
  batch.input.kv_granularity = 1;
  const auto offsets = [&] {
    std::vector<std::int32_t> found;
    const auto plan = batch.make();
    REQUIRE(plan.ok());
    for (std::int64_t w = 0; w < plan->works(); ++w)
      if (plan->work(w).kv_offset != 0) found.push_back(plan->work(w).kv_offset);
    return found;
  };
  const Words safe = offsets();
  REQUIRE_FALSE(safe.empty());
  for (const std::int32_t offset : safe) CHECK((offset == 6 || offset == 36));
  batch.input.fidelity = Fidelity::as_aiter;
  const Words original = offsets();
  REQUIRE(original.size() == safe.size());
  CHECK(original.back() == kPoison);
}

TEST_CASE("planner v1.2: a request without keys gets empty works where AITER's end too early",
          "[plan][BUG-075]") {
  Batch batch({0, 40}, all(2, 2));
  batch.input.key.heads_per_kv_head = Heads(128);
  batch.input.key.dtype = {Dtype::fp8, Dtype::fp8};
  const auto safe = batch.make();
  REQUIRE(safe.ok());
  CHECK(safe->work(0).kv_begin == 0);
  CHECK(safe->work(0).kv_end == 0);
  CHECK(safe->work(0).kv_offset == 0);
  batch.input.fidelity = Fidelity::as_aiter;
  const auto original = batch.make();
  REQUIRE(original.ok());
  CHECK(original->work(0).kv_end == -1);
}

TEST_CASE("planner v1.2: a request without rows has no tile when the query is split", "[plan]") {
  Batch batch({50, 60, 70}, {2, 0, 1});
  batch.input.key.heads_per_kv_head = Heads(128);
  batch.input.key.dtype = {Dtype::fp8, Dtype::fp8};
  const auto plan = batch.make();
  REQUIRE(plan.ok());
  for (std::int64_t w = 0; w < plan->works(); ++w) CHECK(plan->work(w).batch != 1);
  CHECK(plan->works() >= 3);
}

TEST_CASE("planner v1.0: 9000 keys in 16 pieces, the last one shorter", "[plan]") {
  Batch batch({9000}, all(1, 1));
  batch.input.version = PlannerVersion::v1_0;
  const auto plan = batch.make();
  REQUIRE(plan.ok());
  CHECK(plan->works() == 16);
  CHECK(plan->work(0).kv_end == 36 * 16);
  CHECK(plan->work(15).kv_begin == 15 * 36 * 16);
  CHECK(plan->work(15).kv_end == 9000);
}

TEST_CASE("planner v1.1: a short batch stays whole and goes to the cheapest slots", "[plan]") {
  Batch batch({30, 10, 20}, all(3, 1));
  batch.input.version = PlannerVersion::v1_1;
  const auto plan = batch.make();
  REQUIRE(plan.ok());
  CHECK(shown(*plan) == "[0 -1 0 1 0 30 0] [2 -1 2 3 40 60 0] [1 -1 1 2 30 40 0] ");
  CHECK(used(plan->reduce_final_map) == Words{-1, -2, -1, -2, -1, -2});
  CHECK(used(plan->reduce_indptr) == Words{0, 0, 0, 0});
}

// Claims about the plan buffers themselves.
#include "core/plan/plan.hpp"

#include "tests/catch.hpp"

using mla::plan::Plan;
using mla::plan::PlanBuffer;

TEST_CASE("plan buffer: a write outside is kept as an overrun and changes nothing", "[plan][P06]") {
  PlanBuffer buffer("work_indptr", 2);
  buffer.set(2, 7);
  buffer.set(-1, 9);
  CHECK(buffer.used() == 0);
  CHECK(buffer.overruns().size() == 2);
  CHECK(buffer.at(2) == mla::plan::kPoison);
}

TEST_CASE("plan: a clone is equal and carries its own addresses", "[plan]") {
  Plan plan({.work_indptr = 3,
             .work_items = 2,
             .reduce_indptr = 2,
             .reduce_final_rows = 1,
             .reduce_partial_map = 1});
  plan.work_indptr.set(0, 0);
  plan.set_work(1, {.batch = 4, .q_end = 1});
  const Plan copy = plan.clone();
  CHECK(copy == plan);
  CHECK(copy.view().work_meta_data[0] != plan.view().work_meta_data[0]);
  CHECK(copy.work(1).batch == 4);
}

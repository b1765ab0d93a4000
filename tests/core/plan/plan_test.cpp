// Claims about the plan buffers themselves.
#include "core/plan/plan.hpp"

#include "core/plan/in_order.hpp"
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

TEST_CASE("plan buffer: what is written is known, in order or not", "[plan]") {
  PlanBuffer in_order("reduce_indptr", 4);
  PlanBuffer with_gap("reduce_indptr", 4);
  for (const std::int64_t i : {0, 1, 2}) in_order.set(i, 5);
  for (const std::int64_t i : {2, 0}) with_gap.set(i, 5);
  CHECK_FALSE(with_gap.written(1));
  CHECK(with_gap.used() == 3);
  CHECK_FALSE(in_order == with_gap);
  with_gap.set(1, 5);
  CHECK(in_order == with_gap);
  with_gap.forget_from(1);
  CHECK(with_gap.used() == 1);
  CHECK_FALSE(with_gap.written(2));
  CHECK(with_gap.at(2) == mla::plan::kPoison);
}

TEST_CASE("plan buffer: a writer in order keeps what does not fit as overruns", "[plan][P06]") {
  PlanBuffer buffer("work_info_set", mla::plan::kWorkItemWords + 2);
  {
    mla::plan::InOrder works(buffer);
    works.add({.batch = 1, .q_end = 3});
    works.add({.batch = 2, .q_end = 4});
  }
  CHECK(buffer.used() == buffer.size());
  CHECK(buffer.at(mla::plan::kWorkItemWords) == 2);
  CHECK(buffer.overruns().size() == mla::plan::kWorkItemWords - 2);
  CHECK(buffer.overruns().begin()->first == buffer.size());
  CHECK(buffer.overruns().begin()->second == 0);
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

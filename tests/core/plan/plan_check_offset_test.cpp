// Claims about the keys that a work leaves after its own.
#include "core/plan/plan_check.hpp"
#include "tests/core/plan/planned_step.hpp"

using namespace mla;
using namespace mla::plan::test;

TEST_CASE("plan_check: a last piece that says that keys follow is a violation", "[plan][P39]") {
  const auto p = planned("mla1:1q4s90;cu=1");
  REQUIRE(p->md.plan->works() == 1);
  REQUIRE(check(*p, *p->md.plan).empty());
  for (const std::int32_t offset : {-1, 1, 3, 4}) {
    plan::Plan plan = p->md.plan->clone();
    plan::WorkItem item = plan.work(0);
    item.kv_offset = offset;
    plan.set_work(0, item);
    const auto found = check(*p, plan);
    INFO("kv_offset " << offset);
    REQUIRE(has_rule(found, plan::Rule::work_record));
    CHECK(found.front().what.find("but 0 keys of the request follow") != std::string::npos);
  }
}

TEST_CASE("plan_check: the last work of a request with a partial page has the keys of that page",
          "[plan]") {
  const auto p = planned("mla1:1q1s50_1q1s35;heads=16;block=16;page=16;cu=1");
  const plan::PlanCheckInput input = check_input_of(p->md);
  REQUIRE(p->md.plan->works() == 2);
  CHECK(plan::work_keys(input, input.plan.work(0)) == 50);
  CHECK(plan::work_keys(input, input.plan.work(1)) == 35);
  plan::WorkItem first = input.plan.work(1);  // all but the last page
  first.kv_end -= 1;
  CHECK(plan::work_keys(input, first) == 32);
}

// Claims about plan_check and works without keys or rows: where they lose nothing, and where others
// are lost with them.
#include "tests/core/plan/planned_step.hpp"

using namespace mla;
using plan::Plan;
using plan::Rule;
using namespace mla::plan::test;

TEST_CASE("plan_check: an empty work in front of others is a violation", "[plan][P09]") {
  const auto p = planned("mla1:1q1s20_1q1s0_1q1s20;cu=1");
  CHECK(check(*p, *p->md.plan).empty());
  // The plan as the original makes it keeps the empty work between the two others.
  const auto faithful = plan_step(plan_input_of(p->md, {.fidelity = plan::Fidelity::as_aiter}),
                                  size_query_of(p->md, {}));
  REQUIRE(faithful.ok());
  const auto found = check(*p, *faithful);
  REQUIRE(has_rule(found, Rule::empty_work));
  CHECK(found[0].what.find("never runs the work after it") != std::string::npos);

  // After the last work of a slot there is nothing to lose.
  const auto last = planned("mla1:1q1s20_1q1s0;cu=1");
  const auto kept = plan_step(plan_input_of(last->md, {.fidelity = plan::Fidelity::as_aiter}),
                              size_query_of(last->md, {}));
  REQUIRE(kept.ok());
  REQUIRE(kept->works() == 2);
  CHECK_FALSE(has_rule(check(*last, *kept), Rule::empty_work));
}

TEST_CASE("plan_check: empty works after the last one with keys are no violation", "[plan][P09]") {
  const auto p = planned("mla1:2q2s20_3q2s0;cu=1");
  const auto kept = plan_step(plan_input_of(p->md, {.fidelity = plan::Fidelity::as_aiter}),
                              size_query_of(p->md, {}));
  REQUIRE(kept.ok());
  REQUIRE(kept->works() == 5);
  CHECK(check(*p, *kept).empty());

  // With one more work after them each of the three ends its slot too early.
  Plan more = kept->clone();
  more.set_work(4, kept->work(1));
  more.set_work(1, kept->work(4));
  const auto found = check(*p, more);
  CHECK(std::ranges::count(found, Rule::empty_work, &plan::Violation::rule) == 3);
}

TEST_CASE("plan_check: padding in several tiles that ends before it begins is a violation",
          "[plan][P09][BUG-075]") {
  const auto p = planned("mla1:1q4s50_2q4s0;heads=64;arch=gfx950;cu=1");
  CHECK(check(*p, *p->md.plan).empty());
  const auto kept = plan_step(plan_input_of(p->md, {.fidelity = plan::Fidelity::as_aiter}),
                              size_query_of(p->md, {}));
  REQUIRE(kept.ok());
  REQUIRE(kept->work(2).kv_end < kept->work(2).kv_begin);
  const auto found = check(*p, *kept);
  CHECK(std::ranges::count(found, Rule::work_record, &plan::Violation::rule) == 2);
  CHECK(found[0].what.find("kernels read outside of the cache") != std::string::npos);
}

TEST_CASE("plan_check: a work without rows at the end of a slot harms nothing", "[plan][P05]") {
  const auto p = planned("mla1:3q2s700;heads=16;cu=16");
  Plan plan = p->md.plan->clone();
  const std::int64_t works = plan.works();
  plan::WorkItem item = plan.work(works - 1);
  item.q_begin = item.q_end;
  item.kv_begin += 16;  // and not all keys of its request
  plan.set_work(works, item);
  const std::int64_t slots = plan.work_indptr.size() - 1;
  plan.work_indptr.set(slots, static_cast<std::int32_t>(works + 1));
  CHECK(check(*p, plan).empty());
}

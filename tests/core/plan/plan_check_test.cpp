// Claims about plan_check: silent on sound plans of every shape, and what it says of damages that
// have a place or a sentence of their own. The table of the others is plan_damages.hpp.
#include "core/plan/plan_check.hpp"

#include <random>

#include "tests/core/plan/planned_step.hpp"

using namespace mla;
using plan::Plan;
using plan::Rule;
using plan::Violation;
using namespace mla::plan::test;

TEST_CASE("plan_check: sound plans of every shape have no violation", "[plan][P05]") {
  std::mt19937_64 random(11);
  const char* const shapes[] = {
      ";heads=16",
      ";heads=12;cu=7",
      ";heads=128;arch=gfx950",
      ";heads=128;dtype=fp8/fp8",
      ";heads=64;arch=gfx950;dtype=fp8/fp8",
      ";heads=48;arch=gfx950;gran=32",
      ";heads=32;block=16;page=16;gran=1;cu=5",
      ";heads=16;split=2",
      ";heads=16;planner=v11",
  };
  for (const char* shape : shapes)
    for (int i = 0; i < 60; ++i) {
      std::string line = "mla1:";
      const std::uint64_t q = 1 + random() % 4;
      for (std::uint64_t r = 0; r <= random() % 6; ++r)
        line += (r == 0 ? "" : "_") + std::string("1q") + std::to_string(q) + "s" +
                std::to_string(q + random() % (random() % 4 == 0 ? 3000 : 40));
      line += shape;
      INFO(line);
      const auto p = planned(line);
      const auto found = check(*p, *p->md.plan);
      INFO((found.empty() ? std::string() : found[0].what));
      REQUIRE(found.empty());
    }
}

TEST_CASE("plan_check: partial rows that overlap by one are a violation", "[plan][P05]") {
  const auto p = planned("mla1:3q2s700;heads=16;cu=16");  // tiles of two rows
  Plan plan = p->md.plan->clone();
  std::int64_t last = -1;
  for (std::int64_t w = 0; w < plan.works(); ++w)
    if (plan.work(w).partial_row > 0) last = w;
  REQUIRE(last >= 0);
  plan::WorkItem item = plan.work(last);
  item.partial_row -= 1;
  plan.set_work(last, item);
  CHECK(has_rule(check(*p, plan), Rule::partial_rows));
}

TEST_CASE("plan_check: a row that no work writes is noticed from one key on", "[plan][P05]") {
  const auto p = planned("mla1:2q2s1;heads=128;arch=gfx950;causal=0;cu=8");  // a tile for each row
  REQUIRE(p->md.plan->works() == 4);
  for (const std::int64_t lost : {0, 3}) {
    Plan plan = p->md.plan->clone();
    plan.set_work(lost, plan.work(lost == 0 ? 1 : 2));  // the request's other row once more
    CHECK(has_rule(check(*p, plan), Rule::row_written));
  }
}

TEST_CASE("plan_check: a work with more rows than a workgroup takes is a violation",
          "[plan][P07][BUG-021]") {
  // Planned for 16 heads, two rows fit a tile; 128 fp8 heads on gfx942 take one row.
  const auto p = planned("mla1:2q2s500;heads=16;dtype=fp8/fp8;cu=4");
  const auto kernel = planned("mla1:2q2s500;heads=128;dtype=fp8/fp8;cu=4");
  CHECK(check(*p, *p->md.plan).empty());
  const auto found = check(*kernel, *p->md.plan);
  REQUIRE(has_rule(found, Rule::work_record));
  CHECK(found.front().what.find("a workgroup takes 1 rows of 128 heads") != std::string::npos);
}

TEST_CASE("plan_check: a row that no work writes is named", "[plan][P10][BUG-074]") {
  const auto p = planned("mla1:4q1s20;cu=2");
  Plan plan = p->md.plan->clone();
  REQUIRE(plan.works() == 4);
  for (std::int64_t c = 1; c < plan.work_indptr.size(); ++c)
    plan.work_indptr.set(c, std::min(plan.work_indptr.at(c), 3));
  const auto found = check(*p, plan);
  REQUIRE(has_rule(found, Rule::row_written));
  CHECK(found[0].what == "request 3: no work writes rows 3..4");
}

TEST_CASE("plan_check: keys beyond the causal limit need a kernel that masks", "[plan][BUG-011]") {
  const auto p = planned("mla1:1q2s50;heads=128;dtype=fp8/fp8");
  REQUIRE_FALSE(p->md.shape.kernel.masks);
  REQUIRE(check(*p, *p->md.plan).empty());
  Plan plan = p->md.plan->clone();
  plan::WorkItem first = plan.work(0);
  first.kv_end += 1;
  first.kv_offset = 0;
  plan.set_work(0, first);
  CHECK(has_rule(check(*p, plan), Rule::coverage));
}

namespace {

// The plan with the cut after work `w` at another page.
Plan with_cut(const Planned& p, std::int64_t w, std::int32_t page) {
  Plan plan = p.md.plan->clone();
  plan::WorkItem first = plan.work(w);
  plan::WorkItem second = plan.work(w + 1);
  REQUIRE(first.batch == second.batch);
  first.kv_offset += (first.kv_end - page) * static_cast<std::int32_t>(p.md.shape.page_size);
  first.kv_end = second.kv_begin = page;
  plan.set_work(w, first);
  plan.set_work(w + 1, second);
  return plan;
}

}  // namespace

TEST_CASE("plan_check: a piece of which a row sees no key is a violation", "[plan][BUG-012]") {
  const auto p = planned("mla1:2q4s900_1q1s513;cu=4");
  REQUIRE(p->md.plan->work(1).kv_begin > 0);  // request 0 is cut after work 0
  CHECK(check(*p, with_cut(*p, 0, 896)).empty());
  const auto found = check(*p, with_cut(*p, 0, 897));
  REQUIRE(found.size() == 1);
  CHECK(found[0].rule == Rule::hidden_rows);
  CHECK(found[0].what ==
        "work 1 [request 0, rows 0..4, pages 897..900]: rows 0..1 see none of its keys, and "
        "AITER's kernels let them see all (BUG-012)");
}

TEST_CASE("plan_check: pages as AITER cuts them hide keys, safe plans do not",
          "[plan][BUG-012][BUG-058]") {
  const auto p = planned("mla1:1q4s801;page=16;block=16;gran=1;cu=51");
  CHECK(check(*p, *p->md.plan).empty());
  const auto faithful = plan_step(plan_input_of(p->md, {.fidelity = plan::Fidelity::as_aiter}),
                                  size_query_of(p->md, {}));
  REQUIRE(faithful.ok());
  CHECK(has_rule(check(*p, *faithful), Rule::hidden_rows));
}

TEST_CASE("plan_check: partial rows may be listed in any order", "[plan][P05]") {
  const auto p = planned("mla1:1q2s900;cu=4");
  Plan plan = p->md.plan->clone();
  REQUIRE(plan.reduce_indptr.at(1) > 2);
  const std::int32_t first = plan.reduce_partial_map.at(0);
  plan.reduce_partial_map.set(0, plan.reduce_partial_map.at(2));
  plan.reduce_partial_map.set(2, first);
  CHECK(check(*p, plan).empty());
  plan.reduce_partial_map.set(2, plan.reduce_partial_map.at(1));  // one twice, one never
  CHECK(has_rule(check(*p, plan), Rule::reduce_list));
}

TEST_CASE("plan_check: a merge into rows that no work wrote is a violation, one into none is not",
          "[plan][P05]") {
  const auto p = planned("mla1:2q1s20;cu=4");
  Plan plan = p->md.plan->clone();
  REQUIRE(plan.reduce_indptr.at(1) == 0);
  plan.reduce_indptr.set(1, 2);
  plan.reduce_indptr.set(2, 2);
  CHECK(has_rule(check(*p, plan), Rule::reduce_list));
  plan.reduce_final_map.set(0, 3);
  CHECK(has_rule(check(*p, plan), Rule::reduce_list));
  plan.reduce_final_map.set(1, 3);
  CHECK(check(*p, plan).empty());
}

TEST_CASE("plan_check: a list of one partial row after the last tile is valid: the reduce skips it",
          "[plan][P05]") {
  const auto p = planned("mla1:1q1s900_1q1s20;cu=4");
  Plan plan = p->md.plan->clone();
  const std::int64_t last = plan.reduce_indptr.size() - 1;
  REQUIRE(plan.reduce_indptr.at(last) == plan.reduce_indptr.at(last - 1));
  REQUIRE(plan.reduce_indptr.at(last) < plan.reduce_partial_map.size());
  plan.reduce_indptr.set(last, plan.reduce_indptr.at(last) + 1);
  CHECK(check(*p, plan).empty());
}

TEST_CASE("plan_check: a tile with more pieces than the reduce has room for is a violation",
          "[plan][P32]") {
  const auto p = planned("mla1:1q1s900;cu=4");
  plan::PlanCheckInput input = check_input_of(p->md);
  const std::int64_t pieces = p->md.plan->reduce_indptr.at(1);
  REQUIRE(pieces > 2);
  for (const std::int64_t room : {std::int64_t{-1}, pieces}) {
    input.most_pieces = room;
    CHECK(plan::plan_check(input).empty());
  }
  input.most_pieces = pieces - 1;
  const auto found = plan::plan_check(input);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rule == Rule::reduce_list);
  CHECK(found[0].what == "request 0, rows 0..1: " + std::to_string(pieces) +
                             " pieces, and the reduce has room for " + std::to_string(pieces - 1));
}

TEST_CASE("plan_check: what was never written is named so", "[plan][P05]") {
  const auto p = planned("mla1:2q1s100;cu=4");
  Plan plan = p->md.plan->clone();
  plan.work_indptr.set(4, plan.work_indptr.at(4) + 1);
  const auto found = check(*p, plan);
  REQUIRE(has_rule(found, Rule::work_record));
  for (const auto& v : found)
    CHECK(v.what.find(std::to_string(plan::kPoison)) == std::string::npos);
}

TEST_CASE("plan_check: a work_indptr that runs backwards is one violation", "[plan][P04]") {
  const auto p = planned("mla1:40q1s300;cu=16");
  Plan plan = p->md.plan->clone();
  plan.work_indptr.set(3, 1000);
  const auto found = check(*p, plan);
  REQUIRE(found.size() == 1);
  CHECK(found[0].rule == Rule::work_indptr);
}

TEST_CASE("plan_check: an unwritten word of an indptr is called so", "[plan][P04]") {
  const auto p = planned("mla1:2q1s300;cu=4");
  Plan plan = p->md.plan->clone();
  plan.work_indptr.set(3, plan::kPoison);
  CHECK(check(*p, plan)[0].what.ends_with(" to unwritten"));
  plan = p->md.plan->clone();
  plan.reduce_indptr.set(1, plan::kPoison);
  CHECK(check(*p, plan)[0].what.starts_with("reduce entry 0 runs from 0 to unwritten, "));
}

TEST_CASE("plan_check: a request longer than max_seqlen_qo is a violation", "[plan][P32]") {
  const auto p = planned("mla1:2q4s300_1q1s20;cu=4");
  plan::PlanCheckInput input = check_input_of(p->md);
  CHECK(plan::plan_check(input).empty());
  input.max_qo_len = 3;
  const auto found = plan::plan_check(input);
  REQUIRE(has_rule(found, Rule::max_qo_len));
  CHECK(found[0].what == "request 0 has 4 query rows, but max_seqlen_qo is 3");
}

TEST_CASE("plan_check: a kernel for one tile gets all rows of a request", "[plan][P05]") {
  const auto p = planned("mla1:1q4s20;cu=4");
  Plan plan = p->md.plan->clone();
  plan::WorkItem item = plan.work(0);
  item.q_end = 2;
  plan.set_work(0, item);
  item.q_begin = 2;
  item.q_end = 4;
  plan.set_work(1, item);
  for (std::int64_t c = 1; c < plan.work_indptr.size(); ++c) plan.work_indptr.set(c, 2);
  CHECK(has_rule(check(*p, plan), Rule::work_record));
}

TEST_CASE("plan_check: an empty work whose partial rows are merged is a violation", "[plan][P09]") {
  const auto p = planned("mla1:1q2s900;cu=4");
  const plan::WorkItem first = p->md.plan->work(0);
  CHECK(has_rule(check(*p, with_cut(*p, 0, first.kv_begin)), Rule::empty_work));
}

TEST_CASE("plan_check: garbage in all six buffers is reported, never followed", "[plan][P06]") {
  const auto p = planned("mla1:3q2s90;heads=32;cu=4");
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    Plan plan = p->md.plan->clone();
    const auto spoil = [&](plan::PlanBuffer& b) {
      for (int k = 0; k < 3; ++k)
        b.set(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(b.size())),
              static_cast<std::int32_t>(random()));
    };
    spoil(plan.work_indptr);
    spoil(plan.work_info);
    spoil(plan.reduce_indptr);
    CHECK_FALSE(check(*p, plan).empty());
  }
}

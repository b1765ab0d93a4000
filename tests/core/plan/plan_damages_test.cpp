// Claims about plan_check on the table of damages: plans of every planner, each damage at each of
// their works that has a place for it.
#include "tests/core/plan/plan_damages.hpp"

#include <map>
#include <random>

#include "core/plan/tile_straddle.hpp"
#include "core/say.hpp"
#include "tests/core/plan/planned_step.hpp"

using namespace mla;
using namespace mla::plan::test;
using plan::Plan;
using plan::PlanCheckInput;
using plan::Rule;
using plan::WorkItem;

namespace {

// Steps of every planner, of one tile a request and of several, whole and cut.
std::vector<std::string> steps() {
  constexpr const char* kShapes[] = {
      ";heads=16;cu=5",
      ";heads=16;cu=40;split=3",
      ";heads=16;cu=7;causal=0",
      ";heads=12;cu=7",
      ";heads=128;arch=gfx950;cu=16",
      ";heads=128;dtype=fp8/fp8;cu=12",
      ";heads=64;arch=gfx950;dtype=fp8/fp8;cu=9",
      ";heads=48;arch=gfx950;gran=32;cu=6",
      ";heads=32;block=16;page=16;gran=1;cu=5",
      ";heads=16;planner=v12serial;cu=6",
      ";heads=16;planner=v11;cu=6",
      ";heads=128;arch=gfx950;planner=v11;cu=6",
  };
  std::mt19937_64 random(17);
  std::vector<std::string> lines = {
      "mla1:3q2s700;heads=128;arch=gfx950;cu=16", "mla1:3q1s700;planner=v10;split=16",
      "mla1:2q4s900;planner=v10;split=16", "mla1:5q1s300_2q1s40;planner=v12parallel;cu=6",
      "mla1:2q4s97;cu=1"};
  for (const char* shape : kShapes)
    for (int i = 0; i < 6; ++i) {
      const std::uint64_t rows = 1 + random() % 4;
      std::string line = "mla1:";
      for (std::uint64_t r = 0; r <= random() % 4; ++r)
        line += say(r == 0 ? "" : "_", "1q", rows, "s",
                    rows + random() % (random() % 3 == 0 ? 900U : 60U));
      lines.push_back(line + shape);
    }
  return lines;
}

struct Judged {
  bool applied = false;
  std::vector<plan::Violation> found;
};

Judged judged(const Planned& step, const PlanDamage& damage, std::int64_t work) {
  Plan plan = step.md.plan->clone();
  PlanCheckInput input = check_input_of(step.md);
  const auto requests = plan::planning_requests(input);
  input.plan = plan.view();
  const WorkItem item = plan.work(work);
  Place place{plan, input, work, item, requests[static_cast<std::size_t>(item.batch)]};
  if (!damage.apply(place)) return {};
  return {true, plan::plan_check(input)};
}

// Calls `check(what, damage, found)` wherever a damage has a place; each has one somewhere.
template <class Check>
void at_each_place(std::initializer_list<std::span<const PlanDamage>> tables, Check check) {
  std::map<std::string, std::int64_t> places;
  for (const auto& table : tables)
    for (const PlanDamage& damage : table) places[damage.what] = 0;
  for (const std::string& line : steps()) {
    const auto step = planned(line);
    INFO(line);
    REQUIRE(plan::test::check(*step, *step->md.plan).empty());
    for (const auto& table : tables)
      for (const PlanDamage& damage : table)
        for (std::int64_t work = 0; work < step->md.plan->works(); ++work) {
          const Judged one = judged(*step, damage, work);
          if (!one.applied) continue;
          ++places[damage.what];
          check(say(line, ", ", damage.what, ", at work ", work), damage, one.found);
        }
  }
  for (const auto& [what, count] : places) {
    INFO(what);
    CHECK(count > 0);
  }
}

}  // namespace

TEST_CASE("plan_check: each damage of the table breaks its rule", "[plan][P05]") {
  at_each_place({tile_damages(), record_damages()},
                [](const std::string& what, const PlanDamage& damage, const auto& found) {
                  if (!has_rule(found, damage.rule))
                    FAIL_CHECK(what << " does not break the rule " << name(damage.rule));
                });
}

TEST_CASE("plan_check: no legal change of the table breaks a rule", "[plan][P05]") {
  at_each_place({legal_changes(), legal_empty_works()},
                [](const std::string& what, const PlanDamage&, const auto& found) {
                  if (!found.empty()) FAIL_CHECK(what << ": " << found.front().what);
                });
}

TEST_CASE("plan_check: of two bad works each is named", "[plan][P05]") {
  for (const std::string& line : steps()) {
    const auto step = planned(line);
    for (std::int64_t work = 0; work + 1 < step->md.plan->works(); ++work)
      for (const bool no_request : {true, false}) {
        Plan plan = step->md.plan->clone();
        for (const std::int64_t bad : {work, work + 1}) {
          WorkItem item = plan.work(bad);
          (no_request ? item.batch : item.q_begin) = no_request ? -1 : item.q_end + 1;
          plan.set_work(bad, item);
        }
        const auto found = check(*step, plan);
        for (const std::int64_t bad : {work, work + 1})
          if (std::ranges::none_of(found, [bad](const plan::Violation& v) {
                return v.rule == Rule::work_record && v.work == bad;
              }))
            FAIL_CHECK(line << ": work " << bad << " is not named");
      }
  }
}

namespace {

// The works of AITER-27 (tile_straddle.hpp), row by row: of three or more tiles, whose last one
// some rows see and others do not.
std::vector<std::int64_t> straddled_by_rows(const PlanCheckInput& input, std::int64_t works,
                                            const Plan& plan) {
  std::vector<std::int64_t> out;
  const auto requests = plan::planning_requests(input);
  for (std::int64_t w = 0; w < works; ++w) {
    const WorkItem i = plan.work(w);
    const plan::PlanningRequest& r = requests[static_cast<std::size_t>(i.batch)];
    const std::int64_t begin = (i.kv_begin - r.kv_begin) * input.page_size;
    const std::int64_t end = std::min((i.kv_end - r.kv_begin) * input.page_size, r.tokens);
    std::int64_t tiles = 0;
    std::int64_t last_tile = begin;
    for (std::int64_t key = begin; key < end; key += plan::kStraddledTile) {
      last_tile = key;
      ++tiles;
    }
    bool before = false;
    bool inside = false;
    for (std::int64_t row = i.q_begin; row < i.q_end; ++row) {
      const std::int64_t sees = r.tokens - (r.q_end - 1 - row);
      before = before || sees < last_tile;
      inside = inside || sees > last_tile;
    }
    if (tiles > 2 && before && inside) out.push_back(w);
  }
  return out;
}

}  // namespace

TEST_CASE("straddled works: they are those of which rows end on both sides of the last tile",
          "[plan][AITER-27]") {
  std::size_t straddled = 0;
  for (const std::string& line : steps()) {
    const auto step = planned(line);
    const PlanCheckInput input = check_input_of(step->md);
    if (!input.causal) continue;
    std::vector<std::int64_t> named;
    for (const plan::StraddledWork& work : plan::straddled_works(input))
      named.push_back(work.index);
    INFO(line);
    CHECK(named == straddled_by_rows(input, step->md.plan->works(), *step->md.plan));
    straddled += named.size();
  }
  CHECK(straddled > 0);
}

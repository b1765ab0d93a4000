// Two plans side by side: what differs is found, what is the same is not, costs are counted.
#include "properties/show/comparison.hpp"
#include "core/engine/step_hooks.hpp"

#include <limits>
#include <random>

#include "core/engine/decode_builder.hpp"
#include "tests/catch.hpp"

using namespace mla;
using namespace mla::show;
using mla::test::contains;

namespace {

constexpr const char* kCompared = "mla1:2q4s900_1q1s513;heads=8;block=16;cu=4";

DrawnPlan planned(const char* line) {
  const auto c = parse_case(line);
  REQUIRE(c.ok());
  const auto batch = make_batch(*c);
  const auto shape = resolve_shape(*c, *batch);
  REQUIRE(shape.ok());
  DecodeBuffers lists = make_decode_buffers(*c, *batch, *shape);
  const auto built = DecodeMetadataBuilder({}, StepHooks::none()).build(*batch, *shape, lists);
  REQUIRE(built.ok());
  REQUIRE(built->plan.has_value());
  DrawnPlan out = draw_plan(
      {.plan = built->plan->view(),
       .qo_indptr = built->qo_indptr,
       .kv_indptr = built->kv_indptr,
       .last_page_len = built->last_page_len,
       .shape = built->shape.plan,
       .causal = built->shape.causal,
       .kernel_masks = true,
       .page_size = built->shape.page_size,
       .max_qo_len = built->shape.max_qo_len},
      {.known = true, .granularity = built->shape.granularity, .max_split = built->shape.max_split},
      {});
  out.title = line;
  return out;
}

Comparison compared(const DrawnPlan& a, const DrawnPlan& b) {
  return compare({.plan = a, .heads = 16}, {.plan = b, .heads = 16});
}

}  // namespace

TEST_CASE("a plan against itself is the same, and nothing is listed") {
  const DrawnPlan a = planned(kCompared);
  const Comparison c = compared(a, a);
  CHECK(c.identical());
  CHECK(c.same == 6);
  CHECK(c.partner == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
  const std::string text = comparison_text(c, a, a);
  CHECK_THAT(text, contains("The plans are the same."));
  CHECK_THAT(text, !contains("otherwise"));
  CHECK_THAT(comparison_json(c, a, a), contains("\"same\": true"));
  CHECK_THAT(comparison_page(c, a, a), contains("<title>Two plans: the same</title>"));
  CHECK_THAT(comparison_page(c, a, a), !contains(" wrong\" x=\""));
}

TEST_CASE("the costs of the README's plan are those that can be counted by hand") {
  const PlanCost cost = compared(planned(kCompared), planned(kCompared)).cost[0];
  CHECK(cost.works == 6);
  CHECK(cost.slots == 4);
  CHECK(cost.busy == 4);
  CHECK(cost.busiest == 65);  // slot 0: 784 keys are 49 blocks, and 16 for the work
  // slots 1 to 3: 116 and 400 keys, 500 and 16, 497: 8 + 25 + 32, 32 + 1 + 32, 32 + 16
  CHECK(cost.blocks == 65 + 65 + 65 + 48);
  CHECK(cost.imbalance() == Approx(65.0 * 4 / 243));
  CHECK(cost.keys == 900 + 900 + 513);
  CHECK(cost.merges == 3);
  CHECK(cost.partial_rows == 2 * 4 + 2 * 4 + 2 * 1);
  CHECK(cost.traffic == 2 * 18 * 16 * 513 * 4);
}

TEST_CASE("another number of compute units changes cuts, works and merges") {
  const DrawnPlan a = planned(kCompared);
  const DrawnPlan b = planned("mla1:2q4s900_1q1s513;heads=8;block=16;cu=3");
  const Comparison c = compared(a, b);
  CHECK_FALSE(c.identical());
  CHECK(c.batches.empty());
  CHECK(c.same + std::ssize(c.moved) + std::ssize(c.only[0]) == 6);
  CHECK(c.same + std::ssize(c.moved) + std::ssize(c.only[1]) == c.cost[1].works);
  REQUIRE_FALSE(c.splits.empty());
  CHECK(c.splits[0].cuts[0] != c.splits[0].cuts[1]);
  CHECK(c.cost[1].slots == 3);
  const std::string text = comparison_text(c, a, b);
  CHECK_THAT(text,
             contains("requests that are cut otherwise\n  request 0: A 2 works, cut at 784; B "));
  CHECK_THAT(text,
             contains("works of A only\n  work 0 on slot 0: request 0, rows 0–3, keys 0–783"));
}

TEST_CASE("a work on another slot is moved, not new") {
  const DrawnPlan a = planned(kCompared);
  DrawnPlan b = a;
  b.works[5].slot = 0;
  const Comparison c = compared(a, b);
  CHECK(c.same == 5);
  REQUIRE(c.moved.size() == 1);
  CHECK(c.moved[0] == std::pair<std::int64_t, std::int64_t>{5, 5});
  CHECK(c.only[0].empty());
  CHECK(c.cost[1].busiest == 65 + 48);
  CHECK_FALSE(c.identical());
  CHECK_THAT(comparison_text(c, a, b), contains("; in B work 5 on slot 0"));
}

TEST_CASE("each damage of a copy is a difference") {
  const DrawnPlan a = planned(kCompared);
  const auto differs = [&](auto damage) {
    DrawnPlan b = a;
    damage(b);
    return compared(a, b);
  };
  CHECK(differs([](DrawnPlan& b) { b.works[1].key_begin += 1; }).only[1].size() == 1);
  CHECK(differs([](DrawnPlan& b) { b.works[1].record.q_begin += 1; }).only[0].size() == 1);
  CHECK(differs([](DrawnPlan& b) { b.works[0].record.partial_row = 8; }).renumbered == 1);
  CHECK(differs([](DrawnPlan& b) { b.works[0].record.kv_offset = 8; }).renumbered == 1);
  CHECK(differs([](DrawnPlan& b) { std::swap(b.works[0].slot, b.works[5].slot); }).moved.size() ==
        2);
  const Comparison merge = differs([](DrawnPlan& b) { b.tiles[1].partial_rows.pop_back(); });
  REQUIRE(merge.merges.size() == 1);
  CHECK(merge.merges[0].row_begin == 4);
  CHECK(merge.merges[0].pieces[0] == 2);
  CHECK(merge.merges[0].pieces[1] == 1);
  CHECK_FALSE(merge.identical());
  const Comparison none = differs([](DrawnPlan& b) { b.tiles.pop_back(); });
  REQUIRE(none.merges.size() == 1);
  CHECK_THAT(comparison_text(none, a, a),
             contains("row 8: A merged from 2 pieces; B written at once"));
  CHECK_FALSE(differs([](DrawnPlan& b) { b.slots = 5; }).identical());
  // A work twice is one of B only.
  const Comparison twice = differs([](DrawnPlan& b) {
    b.works.push_back(b.works[2]);
    b.works.back().index = 6;
  });
  CHECK(twice.only[1] == std::vector<std::int64_t>{6});
  CHECK(twice.splits.size() == 1);
}

TEST_CASE("other batches are compared, and the comparison says so") {
  const DrawnPlan a = planned(kCompared);
  const DrawnPlan b = planned("mla1:1q4s900_1q4s901_1q1s513;heads=8;block=16;cu=4");
  CHECK_THAT(compared(a, b).batches,
             contains("request 1 has 4 rows and 900 keys in the first, 4 rows"));
  const DrawnPlan d = planned("mla1:1q4s900;heads=8;block=16;cu=4");
  CHECK(compared(a, d).batches == "3 and 1 planning requests");
  CHECK_FALSE(compared(a, d).identical());
  CHECK_THAT(comparison_text(compared(a, d), a, d), contains("The batches differ: 3 and 1"));
}

TEST_CASE("in the page, works of the second plan light up their partners in the first") {
  const DrawnPlan a = planned(kCompared);
  DrawnPlan b = a;
  b.works[5].key_begin += 1;
  std::swap(b.works[1], b.works[2]);
  std::swap(b.works[1].index, b.works[2].index);
  const Comparison c = compared(a, b);
  const std::string page = comparison_page(c, a, b);
  const std::string second = page.substr(page.find("<h2 id=\"B-requests\">"));
  CHECK_THAT(second, contains("data-w=\"b5\""));
  CHECK(c.partner == std::vector<std::int64_t>{0, 2, 1, 3, 4, -1});
  CHECK_THAT(page, contains("plan A has no such work"));
  CHECK_THAT(page, !contains("WRONG"));
  CHECK_THAT(page, contains("<a href=\"#B-balance\">"));
}

TEST_CASE("titles are text in the page") {
  DrawnPlan a = planned(kCompared);
  a.title = "</title><script>alert(1)</script>";
  const std::string page = comparison_page(compared(a, a), a, a);
  CHECK_THAT(page, !contains("<script>alert"));
}

TEST_CASE("lists of a text end after twenty lines, and say what is left") {
  const DrawnPlan a = planned("mla1:64q1s900;heads=16;cu=80");
  const DrawnPlan b = planned("mla1:64q1s900;heads=16;cu=40");
  const Comparison c = compared(a, b);
  REQUIRE(c.only[0].size() > 20);
  CHECK_THAT(comparison_text(c, a, b),
             contains("and " + std::to_string(c.only[0].size() - 20) + " more; --json has all"));
}

TEST_CASE("no damage of records and merges breaks a comparison") {
  const DrawnPlan good = planned(kCompared);
  std::mt19937 random(1);
  constexpr std::int32_t kValues[] = {0,
                                      1,
                                      -1,
                                      4,
                                      900,
                                      std::numeric_limits<std::int32_t>::max(),
                                      std::numeric_limits<std::int32_t>::min()};
  const auto value = [&] { return kValues[random() % std::size(kValues)]; };
  for (int round = 0; round < 300; ++round) {
    DrawnPlan b = good;
    for (int i = 0; i < 4; ++i) {
      Work& w = b.works[random() % b.works.size()];
      plan::WorkItem& r = w.record;
      std::int32_t* const words[] = {&r.batch,    &r.partial_row, &r.q_begin,  &r.q_end,
                                     &r.kv_begin, &r.kv_end,      &r.kv_offset};
      *words[random() % std::size(words)] = value();
      w.request = random() % 3 == 0 ? -1 : w.request;
      w.slot = random() % 3 == 0 ? -1 : w.slot;
      Tile& t = b.tiles[random() % b.tiles.size()];
      t.row_begin = value();
      t.row_end = value();
    }
    const Comparison c = compare({.plan = good, .heads = 16},
                                 {.plan = b, .heads = std::numeric_limits<std::int64_t>::max()});
    CHECK(c.cost[1].traffic >= 0);
    CHECK(c.cost[1].partial_rows >= 0);
    CHECK_FALSE(comparison_page(c, good, b).empty());
    CHECK_FALSE(comparison_text(c, good, b).empty());
    CHECK_FALSE(comparison_json(c, good, b).empty());
    CHECK(comparison_text(compare({.plan = b}, {.plan = good}), b, good).size() > 100);
  }
}

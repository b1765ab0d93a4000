// What the model reads of a plan: works, merges, and what it leaves out.
#include "core/time/step_load.hpp"

#include <vector>

#include "core/time/predict.hpp"
#include "tests/catch.hpp"

namespace {

using mla::plan::WorkItem;
using mla::timing::load_of;
using mla::timing::PlannedStep;
using mla::timing::StepLoad;

// Two requests of one row, 100 and 40 keys: the first in two pieces, the second in one.
struct Lists {
  std::vector<std::int32_t> qo_indptr{0, 1, 2};
  std::vector<std::int32_t> kv_indptr{0, 100, 140};
  std::vector<std::int32_t> last_page_len{1, 1};
  std::vector<std::int32_t> work_indptr{0, 2, 3, 3};
  std::vector<WorkItem> works{
      {0, 0, 0, 1, 0, 64, 36, 0}, {1, -1, 1, 2, 100, 140, 0, 0}, {0, 1, 0, 1, 64, 100, 0, 0}};
  std::vector<std::int32_t> reduce_indptr{0, 2, 2};
  std::vector<std::int32_t> final_map{0, 1, 1, 2};
  std::vector<std::int32_t> partial_map{0, 1, 7, 7};
  std::vector<std::int32_t> words;

  StepLoad load(bool dealt = false) {
    words.clear();
    for (const WorkItem& w : works)
      for (const std::int32_t word : words_of(w)) words.push_back(word);
    PlannedStep step{
        .check = {.plan = mla::plan::PlanView(
                      mla::plan::kNoAddresses,
                      {work_indptr, words, reduce_indptr, final_map, partial_map}),
                  .qo_indptr = qo_indptr,
                  .kv_indptr = kv_indptr,
                  .last_page_len = last_page_len,
                  .shape = {.plan_heads = mla::Heads(16), .slots = mla::ComputeUnits(3)},
                  .cp_round_robin = dealt},
        .dtype = {mla::Dtype::fp8, mla::Dtype::fp8},
        .units = mla::ComputeUnits(256)};
    return load_of(step);
  }
};

}  // namespace

TEST_CASE("A load has the keys and rows of each slot's works, and the longest merge") {
  Lists lists;
  const StepLoad load = lists.load();
  REQUIRE(load.slots.size() == 2);
  CHECK(load.slots[0] == std::vector<mla::timing::Piece>{{64, 16}, {40, 16}});
  CHECK(load.slots[1] == std::vector<mla::timing::Piece>{{36, 16}});
  CHECK(load.longest_merge == 2);
  CHECK(load.partial_rows == 2 * 16);
  CHECK(load.tile_rows == 16);
  CHECK(load.requests == 2);
  CHECK(load.keys == 140);
  CHECK(load.packed_rows == 32);
  CHECK(load.shortest_keys == 40);
  CHECK(load.longest_keys == 100);
  CHECK(mla::timing::moved_rows(load) == 48);
}

TEST_CASE("A list of one piece is no merge, and a work without keys or rows is none") {
  Lists lists;
  lists.reduce_indptr = {0, 1, 1};
  lists.works[1].kv_end = lists.works[1].kv_begin;
  lists.works[2].q_end = lists.works[2].q_begin;
  const StepLoad load = lists.load();
  CHECK(load.longest_merge == 0);
  CHECK(load.partial_rows == 0);
  REQUIRE(load.slots.size() == 1);
  CHECK(load.slots[0].size() == 1);
}

TEST_CASE("Of keys that are dealt to ranks nothing is predicted") {
  Lists lists;
  CHECK(mla::timing::predict(lists.load()).ok());
  const auto dealt = mla::timing::predict(lists.load(true));
  REQUIRE_FALSE(dealt.ok());
  CHECK(dealt.error().message ==
        "outside of the fitted range: no published times of keys that are dealt to ranks");
}

TEST_CASE("A merge costs its start, its pieces and its rows; no merge costs nothing") {
  const mla::timing::TimeConstants c{
      .reduce_start_us = 3, .reduce_piece_us = 0.5, .reduce_bytes_per_us = 2048};
  CHECK(mla::timing::reduce_us(c, 0, 0) == 0);
  CHECK(mla::timing::reduce_us(c, 2, 4) == Approx(3 + 1 + 4));
}

TEST_CASE("Rows that move use the memory: queries in and partial results out") {
  const mla::timing::TimeConstants c{.dtype = {mla::Dtype::fp8, mla::Dtype::fp8},
                                     .memory_bytes_per_us = 1000};
  const auto costs = mla::timing::stage1_costs(c, {.packed_rows = 16, .key_ns = 10}, 16, 5);
  CHECK(costs.moved_rows_us == Approx(5 * (576 + 2048) / 1000.0));
  CHECK(costs.memory_us == Approx(0.576));
  CHECK(costs.matrix_us == 0);
  const auto times = mla::timing::slot_times({{1, 0, 10}}, costs);
  CHECK(times[0] > 10 * costs.memory_us + costs.moved_rows_us);
}

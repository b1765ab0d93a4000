// The model of a step's time: its terms, its bounds, and how it moves with the load.
#include "core/time/predict.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/catch.hpp"

namespace {

using mla::timing::Piece;
using mla::timing::predict_with;
using mla::timing::Prediction;
using mla::timing::StepLoad;
using mla::timing::TimeConstants;

// Round numbers, so that a time can be worked out by hand.
TimeConstants by_hand() {
  return {.name = "by hand",
          .dtype = {mla::Dtype::fp8, mla::Dtype::fp8},
          .units = 4,
          .tile_keys = 64,
          .tiles = {{{16, 2, 10, 0, 8}, {128, 3, 20, 0, 8}, {}, {}}},
          .idle_us = 0.5,
          .memory_bytes_per_us = 576 * 1000.0,
          .reduce_start_us = 1,
          .reduce_piece_us = 0.25,
          .reduce_bytes_per_us = 2048,
          .launch_us = 4,
          .least_keys = 1,
          .most_keys = 4096,
          .error = 0.25,
          .guess_error = 1};
}

StepLoad planned(std::vector<std::vector<Piece>> slots) {
  StepLoad load{.dtype = {mla::Dtype::fp8, mla::Dtype::fp8}, .units = mla::ComputeUnits(4)};
  for (const auto& slot : slots)
    for (const Piece& piece : slot) {
      load.keys += piece.keys;
      load.tile_rows = std::max(load.tile_rows, piece.packed_rows);
      ++load.requests;
    }
  load.slots = std::move(slots);
  return load;
}

double stage1(const Prediction& p) {
  return p.stage1_us + p.imbalance_us;
}

std::vector<std::vector<Piece>> random_slots(std::mt19937_64& random) {
  const auto draw = [&random](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  std::vector<std::vector<Piece>> slots(static_cast<std::size_t>(draw(1, 12)));
  for (auto& slot : slots)
    for (std::int64_t i = draw(1, 4); i > 0; --i) slot.push_back({draw(1, 5000), 16});
  return slots;
}

}  // namespace

TEST_CASE("A step of two slots takes what its terms come to by hand") {
  TimeConstants c = by_hand();
  // No rows that move, so that only keys use the memory: 1000 of them a microsecond.
  StepLoad load = planned({{{1000, 0}}, {{3000, 0}, {100, 0}}});
  load.longest_merge = 4;
  load.partial_rows = 6;
  load.shortest_keys = load.longest_keys = 1000;
  const Prediction p = predict_with(load, c);
  // Keys are loaded 64 at a time. Slot 0: 1024; 10.24 us alone, 2.048 us of memory until it ends.
  // Slot 1: 3008 + 128; 31.36 us alone, and 4.16 us for the keys of both.
  const double first = 2 + std::hypot(10.24, 2.048);
  const double second = 4 + std::hypot(31.36, 4.16);
  CHECK(p.stage1_us == Approx((first + second) / 2));
  CHECK(p.imbalance_us == Approx(second - (first + second) / 2));
  CHECK(p.reduce_us == Approx(1 + 4 * 0.25 + 6));
  CHECK(p.launch_us == 4);
  CHECK(p.total_us() == p.launch_us + p.stage1_us + p.imbalance_us + p.reduce_us);
  CHECK(p.beyond.empty());
  CHECK(p.low_us == Approx(p.total_us() / 1.25));
  CHECK(p.high_us == Approx(p.total_us() * 1.25));
}

TEST_CASE("Workgroups go to the unit that is free first, and those without keys cost little") {
  const TimeConstants c = by_hand();
  StepLoad load = planned({});
  load.planned = false;
  load.units = mla::ComputeUnits(2);
  load.tile_rows = 16;
  load.requests = 1;
  load.workgroups = {{640, 16}, {64, 16}, {64, 16}, {0, 16}};
  auto slots = slot_loads(load, c);
  std::ranges::sort(slots);
  // Unit 0: 8.4 us. Unit 1: two works of 2.64 us, then the empty one.
  CHECK(slots == std::vector<mla::timing::SlotLoad>{{1, 0, 640}, {2, 1, 128}});
}

TEST_CASE("Stage 1 is never faster than its keys at full bandwidth, nor than any slot alone") {
  std::mt19937_64 random(11);
  const TimeConstants c = by_hand();
  for (int i = 0; i < 500; ++i) {
    const StepLoad load = planned(random_slots(random));
    const double time = stage1(predict_with(load, c));
    CHECK(time >= static_cast<double>(load.keys) * 576 / c.memory_bytes_per_us);
    for (const auto& slot : load.slots) {
      double alone = 0;
      for (const Piece& piece : slot) alone += 2 + static_cast<double>(piece.keys) / 100;
      CHECK(time >= alone - 1e-9);
    }
  }
}

TEST_CASE("More keys in any work never make a step with a plan faster") {
  std::mt19937_64 random(12);
  const TimeConstants c = by_hand();
  for (int i = 0; i < 500; ++i) {
    auto slots = random_slots(random);
    const double before = stage1(predict_with(planned(slots), c));
    auto& slot = slots[random() % slots.size()];
    slot[random() % slot.size()].keys += static_cast<std::int64_t>(random() % 900);
    CHECK(stage1(predict_with(planned(slots), c)) >= before - 1e-9);
  }
}

TEST_CASE("A step that no published time covers is refused with the value") {
  const auto why = [](StepLoad load) {
    load.requests = 1;
    load.tile_rows = std::max<std::int64_t>(load.tile_rows, 16);
    const auto p = mla::timing::predict(load);
    return p.ok() ? std::string() : p.error().message;
  };
  StepLoad load = planned({{{64, 16}}});
  load.units = mla::ComputeUnits(256);
  CHECK(why(load).empty());
  load.units = mla::ComputeUnits(128);
  CHECK(why(load) == "outside of the fitted range: 128 compute units; published times are of 256");
  load.units = mla::ComputeUnits(256);
  load.arch = mla::Arch::gfx942;
  CHECK(why(load) ==
        "outside of the fitted range: no published times of gfx942 fp8/fp8 with a plan");
  load.arch = mla::Arch::gfx950;
  load.tile_rows = 129;
  CHECK(why(load) == "outside of the fitted range: tiles of 129 rows; the table has at most 128");
}

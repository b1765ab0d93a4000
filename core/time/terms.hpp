// The terms of a step's predicted time, for predict() and for the search of plans.
//
// predict.hpp has the formula of stage 1. Times are predicted microseconds.
#pragma once

#include <cstdint>
#include <vector>

#include "core/time/step_load.hpp"
#include "core/time/time_constants.hpp"

namespace mla::timing {

// Sums of what a slot does, keys rounded up to those that the kernel loads at a time.
struct SlotLoad {
  std::int64_t pieces = 0;
  std::int64_t idle = 0;  // workgroups without keys
  std::int64_t keys = 0;
  auto operator<=>(const SlotLoad&) const = default;
};

// What stage 1 of one step costs.
struct Stage1Costs {
  double piece_us = 0;
  double idle_us = 0;
  double key_us = 0;         // in a slot that is alone
  double memory_us = 0;      // of a key, if all slots share the memory
  double matrix_us = 0;      // of a key, if all slots share the matrix units
  double moved_rows_us = 0;  // queries in and partial results out, of all slots together
};
// `moved_rows`: packed rows that works with keys load and write, one that is read for several
// pieces each time.
Stage1Costs stage1_costs(const TimeConstants& constants, const TileCost& tile,
                         std::int64_t tile_rows, std::int64_t moved_rows);
// Each slot's, in ascending order of their keys.
std::vector<double> slot_times(std::vector<SlotLoad> slots, const Stage1Costs& costs);

// `longest_merge`: pieces of the longest list, 0 without one; `partial_rows`: packed rows read.
double reduce_us(const TimeConstants& constants, std::int64_t longest_merge,
                 std::int64_t partial_rows);

}  // namespace mla::timing

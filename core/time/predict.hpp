// The predicted time of a decode step, in its terms. Never a measured one.
//
// Stage 1: slot s needs sum over its works of piece_us, and for its k keys
//     sqrt((k key_ns)^2 + memory(k)^2 + matrix(k)^2),
// where memory(k) is the time in which all slots together load what each loads until s is done,
// sum over slots j of min(k_j, k) rows of the cache, at the device's bandwidth; matrix(k) is the
// same for its matrix operations. So no slot is faster than alone, stage 1 is never faster than all
// its bytes at full bandwidth, and more keys in any work never make it faster. Without a plan,
// workgroups go to units in their order, each to the one that is free first.
// Fails: `unsupported`, with the value that no published time covers.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/time/step_load.hpp"
#include "core/time/terms.hpp"
#include "core/time/time_constants.hpp"

namespace mla::timing {

struct Prediction {
  double launch_us = 0;
  double stage1_us = 0;     // if its work lay evenly on the slots that have some
  double imbalance_us = 0;  // what the slowest slot needs beyond that
  double reduce_us = 0;
  [[nodiscard]] double total_us() const { return launch_us + stage1_us + imbalance_us + reduce_us; }

  // Every key, query row and output once, at full bandwidth; no plan is below it.
  double roofline_us = 0;
  // Nine of ten published times of such shapes lie within.
  double low_us = 0;
  double high_us = 0;
  // Why the interval is that of a guess: the family was fitted, but not this shape. Empty: it was.
  std::string beyond = {};
};

// The row of the table for this step, or why there is none.
Result<const TimeConstants*> constants_for(const StepLoad& load);
// The kernel for the tiles of this step; the row of the table has one.
const TileCost& tile_cost(const TimeConstants& constants, const StepLoad& load);
// Packed rows that works with keys load and write, one that is read for several pieces each time.
std::int64_t moved_rows(const StepLoad& load);
std::vector<SlotLoad> slot_loads(const StepLoad& load, const TimeConstants& constants);

Result<Prediction> predict(const StepLoad& load);
Prediction predict_with(const StepLoad& load, const TimeConstants& constants);

}  // namespace mla::timing

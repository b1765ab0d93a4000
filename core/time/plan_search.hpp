// Searches a plan that is predicted to be faster than the one that there is.
//
// It keeps the tiles of the step's plan (their rows and keys) and its buffers, and chooses cuts,
// slots and merges anew: for several caps of pieces a tile it finds the earliest time by which list
// scheduling places all tiles (draft_packer.cpp), improves the best drafts by local moves
// (draft_moves.cpp), and takes the fastest by predict(). What it returns is valid for plan_check()
// and predicted to be faster, or nothing. The cap of splits of the planner's call is not kept:
// finding it is what the search is for. Fails: `unsupported`, with the value that no published
// time covers.
#pragma once

#include <optional>

#include "core/plan/plan.hpp"
#include "core/result.hpp"
#include "core/time/predict.hpp"
#include "core/time/step_load.hpp"

namespace mla::timing {

struct BetterPlan {
  plan::Plan plan;
  Prediction predicted;
};

struct PlanSearch {
  Prediction before;                 // of the step as it is
  std::optional<BetterPlan> better;  // nothing: none was found
};

// `step` is valid.
Result<PlanSearch> search_plan(const PlannedStep& step);

}  // namespace mla::timing

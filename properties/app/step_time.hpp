// What `mla-testbed time` says of a decode step: its predicted time, term by term, and that of the
// ways not taken.
//
// Every time is predicted from published times (docs/use/time.md), none is measured. Fails: with
// whatever refuses the step. A step outside of the fitted range is no error: it has no times.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/case/case.hpp"
#include "core/result.hpp"
#include "core/time/predict.hpp"

namespace mla::app {

// One way to run the step.
struct TimedStep {
  Case spec;
  timing::StepLoad load;
  Result<timing::Prediction> predicted;
};

struct SplitChoice {
  std::int64_t splits = 0;  // cap of splits a request with a plan, splits without one; -1: no cap
  double predicted_us = 0;
};

struct StepTime {
  TimedStep step;
  // No plan that the kernels accept ends stage 1 before; predicted like the rest, since its costs
  // are. Only of steps with a plan.
  std::optional<double> stage1_bound_us;
  // Without a plan, if the step has one, and the other way round; none if it was not asked for.
  std::optional<Result<TimedStep>> other_route;
  std::vector<SplitChoice> choices;  // what was tried, in ascending order of splits
};

// `others`: also the other route and other splits, a plan each.
Result<StepTime> time_step(const Case& c, bool others);

std::string time_text(const StepTime& time);
nlohmann::ordered_json time_json(const StepTime& time);

// Which term of the prediction changed from `before` to `now`.
std::string time_against_text(const StepTime& now, const StepTime& before);
nlohmann::ordered_json time_against_json(const StepTime& now, const StepTime& before);

}  // namespace mla::app

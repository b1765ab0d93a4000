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
#include "core/engine/step_hooks.hpp"
#include "core/result.hpp"
#include "core/time/plan_search.hpp"
#include "core/time/predict.hpp"
#include "properties/dump/check/answer.hpp"
#include "properties/dump/dump.hpp"

namespace mla::app {

// One way to run the step.
struct TimedStep {
  std::string name;          // a case line, or the name of a dump; foreign text
  std::optional<Case> spec;  // nothing: of a dump
  timing::StepLoad load;
  Result<timing::Prediction> predicted;
  // No plan that the kernels accept ends stage 1 before; predicted like the rest, since its costs
  // are. Only of steps with a plan.
  std::optional<double> stage1_bound_us = {};
};

struct SplitChoice {
  std::int64_t splits = 0;  // cap of splits a request with a plan, splits without one; -1: no cap
  double predicted_us = 0;
};

struct PlannerChoiceTime {
  PlannerChoice planner = PlannerChoice::automatic;
  Result<timing::Prediction> predicted;
};

// A plan that is predicted to be faster, if one was found.
struct FasterPlan : timing::BetterPlan {
  std::int64_t longest_merge = 0;  // pieces, 0: nothing is merged
};

struct StepTime {
  TimedStep step;
  // Without a plan, if the step has one, and the other way round; none if it was not asked for.
  std::optional<Result<TimedStep>> other_route = {};
  std::vector<SplitChoice> choices = {};         // what was tried, in ascending order of splits
  bool searched = false;                         // for a faster plan
  std::optional<FasterPlan> faster = {};         // nothing: none was found
  std::vector<PlannerChoiceTime> planners = {};  // of a case: AITER's, if it was searched
};

struct TimeQuestion {
  bool others = false;  // also the other route and other splits of a case, a plan each
  bool faster = false;  // also a plan that is predicted to be faster, and AITER's other planners
};

Result<StepTime> time_step(const Case& c, const TimeQuestion& question);
// Of a case whose metadata is there, with a valid plan or none.
TimedStep timed_step(const Case& c, const DecodeMetadata& metadata);
// Of a plan from outside. Fails also: a plan that `check` finds broken, or does not look at.
Result<StepTime> time_step(const dump::Dump& dump, const TimeQuestion& question);
// Of one that `check` gave this answer about.
Result<TimedStep> timed_step(const dump::Dump& dump, const dump::Answer& answer);

// The prediction in one line for a reader of a plan: "26.6 us predicted, 23.1 us to 30.6 us; ...";
// where there is none, the reason.
std::string time_line(const TimedStep& step);
nlohmann::ordered_json prediction_json(const Result<timing::Prediction>& predicted);

// As the command prints it: what is no UTF-8 in a foreign name is replaced.
std::string json_text(const nlohmann::ordered_json& json);
std::string time_text(const StepTime& time);
nlohmann::ordered_json time_json(const StepTime& time);

// Which term of the prediction changed from `before` to `now`.
std::string time_against_text(const StepTime& now, const StepTime& before);
nlohmann::ordered_json time_against_json(const StepTime& now, const StepTime& before);

}  // namespace mla::app

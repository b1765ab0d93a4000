#include "properties/app/step_time.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/case/batch.hpp"
#include "core/engine/decode_builder.hpp"
#include "core/say.hpp"
#include "core/time/stage1_bound.hpp"
#include "properties/dump/check/check.hpp"
#include "properties/dump/check/launch_arguments.hpp"

namespace mla::app {
namespace {

constexpr std::int64_t kCaps[] = {-1, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256};
constexpr std::int64_t kMostSplits = 16;  // that AITER's wrapper considers
// What AITER's size query takes for granted; planner v1.0 divides by it.
constexpr std::int64_t kV10Splits = 32;
constexpr PlannerChoice kPlanners[] = {PlannerChoice::v10, PlannerChoice::v11, PlannerChoice::v12};

// A case with the buffers that its metadata refers to.
struct BuiltStep {
  DecodeBuffers buffers;
  DecodeMetadata metadata;
};

Result<std::unique_ptr<BuiltStep>> build(const Case& c) {
  const auto batch = make_batch(c);
  if (!batch) return batch.error();
  const auto shape = resolve_shape(c, *batch);
  if (!shape) return shape.error();
  auto step = std::make_unique<BuiltStep>();
  step->buffers = make_decode_buffers(c, *batch, *shape);
  const DecodeBuilderOptions options{.max_requests = 0, .fill_tail = false};
  auto metadata =
      DecodeMetadataBuilder(options, StepHooks::none()).build(*batch, *shape, step->buffers);
  if (!metadata) return metadata.error();
  step->metadata = *std::move(metadata);
  return step;
}

TimedStep timed_load(std::string name, timing::StepLoad load) {
  auto predicted = timing::predict(load);
  return {std::move(name), std::nullopt, std::move(load), std::move(predicted)};
}

TimedStep timed_plan(std::string name, const timing::PlannedStep& planned) {
  TimedStep step = timed_load(std::move(name), timing::load_of(planned));
  if (const auto constants = timing::constants_for(step.load))
    step.stage1_bound_us =
        timing::stage1_bound_us(planned, **constants, timing::tile_cost(**constants, step.load));
  return step;
}

Result<TimedStep> timed(const Case& c) {
  const auto built = build(c);
  if (!built) return built.error();
  return timed_step(c, (*built)->metadata);
}

Case other_way(const Case& c, bool planned) {
  Case other = c;
  other.planner = planned ? PlannerChoice::none : PlannerChoice::automatic;
  other.decode().kv_splits = 0;
  return other;
}

std::vector<SplitChoice> split_choices(const Case& spec, bool planned) {
  std::vector<SplitChoice> out;
  const auto attempt = [&out](const Case& c, std::int64_t splits) {
    const auto one = timed(c);
    if (one && one->predicted) out.push_back({splits, one->predicted->total_us()});
  };
  Case c = spec;
  if (planned) {
    for (const std::int64_t cap : kCaps) {
      c.decode().max_split = cap;
      attempt(c, cap);
    }
    return out;
  }
  for (std::int64_t splits = 1; splits <= kMostSplits; ++splits) {
    c.decode().kv_splits = splits;
    attempt(c, splits);
  }
  return out;
}

std::vector<PlannerChoiceTime> by_planner(const Case& spec) {
  std::vector<PlannerChoiceTime> out;
  for (const PlannerChoice planner : kPlanners) {
    Case c = spec;
    c.planner = planner;
    if (planner == PlannerChoice::v10 && c.decode().max_split < 1)
      c.decode().max_split = kV10Splits;
    const auto one = timed(c);
    out.push_back({planner, one ? one->predicted : Result<timing::Prediction>(one.error())});
  }
  return out;
}

MaybeError search(const timing::PlannedStep& planned, StepTime& out) {
  auto found = timing::search_plan(planned);
  if (!found) return found.error();
  out.searched = true;
  if (!found->better) return std::nullopt;
  timing::PlannedStep with = planned;
  with.check.plan = found->better->plan.view();
  const std::int64_t longest = timing::load_of(with).longest_merge;
  out.faster = FasterPlan{*std::move(found->better), longest};
  return std::nullopt;
}

Error none(const std::string& why) {
  return {ErrorCode::unsupported, "time " + why};
}

// The plan of a dump that `check` gave this answer about; why there is none to predict.
Result<timing::PlannedStep> planned_step(const dump::Dump& dump, const dump::Answer& answer) {
  if (!answer.not_checked.empty())
    return none("predicts plans that are checked: " + answer.not_checked);
  if (!answer.findings.empty())
    return Error{ErrorCode::refused, "the plan is not valid, so that its time means nothing: " +
                                         answer.findings.front().what};
  const auto* decode = std::get_if<dump::DecodeDump>(&dump.step);
  if (decode == nullptr) return none("predicts decode steps, not a step of kind prefill");
  if (dump::runs_unplanned(decode->planned, decode->readable_launch()))
    return none("predicts the plan of a dump, and AITER runs this step without one");
  const dump::PlannerCall& call = decode->planned.call;
  const auto input = dump::plan_check_input(call, **decode->planned.plan);
  if (!input) return input.error();
  return timing::PlannedStep{.check = *input,
                             .arch = call.input.key.arch,
                             .dtype = call.input.key.dtype,
                             .widths = decode->planned.cache.widths,
                             .units = call.input.key.compute_units,
                             .granularity = call.input.kv_granularity};
}

}  // namespace

Result<StepTime> time_step(const Case& c, const TimeQuestion& question) {
  if (c.kind() != StepKind::decode)
    return none(say("predicts decode steps, not a step of kind ", name(c.kind())));
  if (!c.later_steps.empty())
    return none(say("predicts one step, not a sequence of ", c.later_steps.size() + 1));
  const auto built = build(c);
  if (!built) return built.error();
  const DecodeMetadata& md = (*built)->metadata;
  StepTime out{timed_step(c, md)};
  if (question.others) out.other_route = timed(other_way(c, out.step.load.planned));
  if (!out.step.predicted) return out;
  if (question.others) out.choices = split_choices(c, out.step.load.planned);
  if (!question.faster) return out;
  if (!md.plan) return none("searches a plan for a step that has one; this one runs without");
  if (const MaybeError bad = search(timing::planned_step_of(md, md.plan->view()), out)) return *bad;
  out.planners = by_planner(c);
  return out;
}

TimedStep timed_step(const Case& c, const DecodeMetadata& md) {
  TimedStep step = md.plan
                       ? timed_plan(format_case(c), timing::planned_step_of(md, md.plan->view()))
                       : timed_load(format_case(c), timing::load_of(md));
  step.spec = c;
  return step;
}

Result<StepTime> time_step(const dump::Dump& dump, const TimeQuestion& question) {
  const auto answer = dump::check(dump);
  if (!answer) return answer.error();
  const auto planned = planned_step(dump, *answer);
  if (!planned) return planned.error();
  StepTime out{timed_plan(dump.name, *planned)};
  if (question.faster && out.step.predicted)
    if (const MaybeError bad = search(*planned, out)) return *bad;
  return out;
}

Result<TimedStep> timed_step(const dump::Dump& dump, const dump::Answer& answer) {
  const auto planned = planned_step(dump, answer);
  if (!planned) return planned.error();
  return timed_plan(dump.name, *planned);
}

}  // namespace mla::app

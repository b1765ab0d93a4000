#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "properties/app/step_time.hpp"

namespace mla::app {
namespace {

using TimeJson = nlohmann::ordered_json;

// What the model reads, for a fit: how many slots have [works, workgroups without keys, keys].
TimeJson load_json(const timing::StepLoad& load, const timing::TimeConstants& constants) {
  std::map<timing::SlotLoad, std::int64_t> slots;
  for (const timing::SlotLoad& slot : timing::slot_loads(load, constants)) ++slots[slot];
  TimeJson list = TimeJson::array();
  for (const auto& [slot, count] : slots)
    list.push_back({count, slot.pieces, slot.idle, slot.keys});
  return {{"arch", name(load.arch)},
          {"dtype_q", name(load.dtype.q)},
          {"dtype_kv", name(load.dtype.kv)},
          {"planned", load.planned},
          {"tile_rows", load.tile_rows},
          {"slots", list},
          {"moved_rows", timing::moved_rows(load)},
          {"longest_merge", load.longest_merge},
          {"partial_rows", load.partial_rows}};
}

TimeJson other_json(const StepTime& time) {
  const Result<TimedStep>& other = *time.other_route;
  if (!other) return {{"none", other.error().message}};
  TimeJson out = prediction_json(other->predicted);
  out["planned"] = other->load.planned;
  return out;
}

}  // namespace

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(1, ' ', false, TimeJson::error_handler_t::replace) + "\n";
}

nlohmann::ordered_json prediction_json(const Result<timing::Prediction>& predicted) {
  if (!predicted) return {{"none", predicted.error().message}};
  const timing::Prediction& p = *predicted;
  return {{"total_us", p.total_us()},       {"low_us", p.low_us},       {"high_us", p.high_us},
          {"fitted", p.beyond.empty()},     {"beyond", p.beyond},       {"stage1_us", p.stage1_us},
          {"imbalance_us", p.imbalance_us}, {"reduce_us", p.reduce_us}, {"launch_us", p.launch_us},
          {"roofline_us", p.roofline_us}};
}

nlohmann::ordered_json time_json(const StepTime& time) {
  const auto known = timing::constants_for(time.step.load);
  TimeJson out = {{"format", "mla-testbed time 1"},
                  {time.step.spec ? "case" : "bundle", time.step.name},
                  {"predicted", prediction_json(time.step.predicted)}};
  if (time.other_route) out["predicted_other_route"] = other_json(time);
  if (time.step.stage1_bound_us) out["predicted_stage1_bound_us"] = *time.step.stage1_bound_us;
  if (time.searched) {
    out["predicted_better"] = time.faster ? prediction_json(time.faster->predicted) : TimeJson();
    for (const PlannerChoiceTime& one : time.planners)
      out["predicted_by_planner"][std::string(name(one.planner))] = prediction_json(one.predicted);
  }
  TimeJson choices = TimeJson::array();
  for (const SplitChoice& choice : time.choices)
    choices.push_back({{"splits", choice.splits}, {"predicted_us", choice.predicted_us}});
  out["predicted_by_splits"] = std::move(choices);
  if (known) out["load"] = load_json(time.step.load, **known);
  return out;
}

nlohmann::ordered_json time_against_json(const StepTime& now, const StepTime& before) {
  return {
      {"format", "mla-testbed time against 1"},
      {"this", time_json(now)},
      {"against", time_json(before)},
      {"predicted_change_us",
       {{"stage1_us", now.step.predicted->stage1_us - before.step.predicted->stage1_us},
        {"imbalance_us", now.step.predicted->imbalance_us - before.step.predicted->imbalance_us},
        {"reduce_us", now.step.predicted->reduce_us - before.step.predicted->reduce_us},
        {"launch_us", now.step.predicted->launch_us - before.step.predicted->launch_us},
        {"total_us", now.step.predicted->total_us() - before.step.predicted->total_us()}}}};
}

}  // namespace mla::app

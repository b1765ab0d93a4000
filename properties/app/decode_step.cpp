#include <nlohmann/json.hpp>

#include "core/case/steps.hpp"
#include "core/engine/decode_builder.hpp"
#include "core/engine/planner_dispatch.hpp"
#include "core/engine/step_hooks.hpp"
#include "core/plan/ported_from.hpp"
#include "properties/app/plan_table.hpp"
#include "properties/app/planned_step.hpp"
#include "properties/app/step_time.hpp"
#include "properties/app/table_text.hpp"
#include "properties/dump/write/plan.hpp"

namespace mla::app {
namespace {

using Json = nlohmann::ordered_json;

Json decisions_json(const ResolvedShape& s) {
  Json out = {{"route", name(s.route)},
              {"route_reason", s.route_reason},
              {"kernel", s.kernel.label},
              {"kernel_masks", s.kernel.masks},
              {"kernel_returns_lse", s.kernel.lse},
              {"model_heads", s.heads.model.count()},
              {"kernel_heads", s.heads.kernel.count()},
              {"leading_rows", s.leading_rows},
              {"fp8", name(s.fp8)},
              {"block_size", s.block_size},
              {"notes", s.notes}};
  if (s.route == Route::split) {
    out["kv_splits"] = s.kv_splits;
    out["split_granularity"] = s.split_granularity;
    return out;
  }
  out["fold_ratio"] = s.plan.fold_ratio;
  out["plan_heads"] = s.plan.plan_heads.count();
  out["rows_per_workgroup"] = s.plan.rows_per_workgroup;
  out["query_split"] = s.plan.query_split;
  return out;
}

// A document without them is of rows of 512 + 64.
void write_widths(const RowWidths& widths, Json& document) {
  if (widths == kBuiltIn) return;
  document["latent"] = widths.latent().count();
  document["rope"] = widths.rope().count();
  document["value"] = widths.value().count();
}

// Nothing of a plan that repeats a defect of the original.
std::optional<TimedStep> predicted_of(const Case& c, const DecodeMetadata& metadata,
                                      plan::Fidelity fidelity) {
  if (fidelity == plan::Fidelity::as_aiter && metadata.plan &&
      !plan::plan_check(check_input_of(metadata)).empty())
    return std::nullopt;
  return timed_step(c, metadata);
}

}  // namespace

Result<PlannedStep> plan_decode_step(const Case& step, plan::Fidelity fidelity,
                                     const StepHooks& hooks, const plan::StepPlanner* planner) {
  const auto batch = make_batch(step);
  if (!batch) return batch.error();
  const auto shape = resolve_shape(step, *batch, dispatch_of(planner));
  if (!shape) return shape.error();
  DecodeBuffers buffers = make_decode_buffers(step, *batch, *shape);
  const DecodeBuilderOptions options{
      .max_requests = 0, .fill_tail = false, .fidelity = fidelity, .planner = planner};
  const auto metadata = DecodeMetadataBuilder(options, hooks).build(*batch, *shape, buffers);
  if (!metadata) return metadata.error();
  PlannedStep out{decisions_text(step, *batch, *metadata), {}};
  if (metadata->plan)
    out.table += row("planned as", planner != nullptr ? "the AITER of --aiter" : plan::kPortedFrom);
  const auto predicted = predicted_of(step, *metadata, fidelity);
  if (predicted) out.table += row("predicted", time_line(*predicted));
  out.table += plan_text(*metadata);
  Json document = {{"format", "mla-testbed plan 1"}, {"name", format_case(step)}};
  dump::write_planner_call(document, plan_input_of(*metadata, {}));
  write_widths(metadata->shape.widths, document);
  document["decisions"] = decisions_json(metadata->shape);
  if (predicted) document["predicted"] = prediction_json(predicted->predicted);
  if (metadata->plan) dump::write_plan(document, metadata->plan->sizes(), *metadata->plan);
  out.document = document.dump();
  const auto live = metadata->kv_indices.begin() + metadata->kv_indptr.back();
  out.pages.assign(metadata->kv_indices.begin(), live);
  return out;
}

Result<PlannedStep> plan_step_of(const Case& step, plan::Fidelity fidelity,
                                 const plan::StepPlanner* planner) {
  switch (step.kind()) {
    case StepKind::decode:
      return plan_decode_step(step, fidelity, StepHooks::none(), planner);
    case StepKind::prefill:
      return plan_prefill_step(step, planner);
    case StepKind::fa:
      return plan_fa_step(step);
  }
  return Error{ErrorCode::usage, "a case of no known kind"};
}

Result<std::vector<PlannedStep>> plan_steps_of(const Case& c, plan::Fidelity fidelity,
                                               const plan::StepPlanner* planner) {
  const std::vector<Case> steps = single_steps(c);
  std::vector<PlannedStep> out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto step = plan_step_of(steps[i], fidelity, planner);
    if (!step) return steps.size() > 1 ? of_step(i, step.error()) : step.error();
    out.push_back(std::move(*step));
  }
  return out;
}

}  // namespace mla::app

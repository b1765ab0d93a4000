#include "properties/app/failure_pictures.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/decode_builder.hpp"
#include "core/numeric/bf16.hpp"
#include "core/plan/plan_check.hpp"
#include "core/say.hpp"
#include "cpu_backend/decode/reference.hpp"
#include "properties/show/pictures.hpp"
#include "properties/step/decode/blame.hpp"
#include "properties/step/fa/run.hpp"
#include "properties/step/prefill/plan_rules.hpp"
#include "properties/step/prefill/run.hpp"

namespace mla::app {
namespace {

// An error in units of its bound.
float ratio_of(double got, double want, double bound, bool poison) {
  if (poison || !std::isfinite(got) != !std::isfinite(want) || std::isnan(got))
    return show::kUnwritten;
  if (bound == cpu::kNotEvaluated) return show::kNotJudged;
  if (got == want) return 0;
  const double ratio = std::fabs(got - want) / bound;
  // A bound of 0 holds for the value alone.
  return ratio < 1e30 ? static_cast<float>(ratio) : 1e30F;
}

float out_ratio(const JudgedResult& judged, std::size_t i) {
  const std::uint16_t bits = judged.out[i];
  return ratio_of(bf16_to_float(bits), judged.reference.out[i], judged.reference.out_bound[i],
                  bits == kPoisonBf16);
}

void add_note(show::Section& out, const std::string& why) {
  out.html += "<p class=\"notes\">" + show::escape(why) + "</p>\n";
}

void add_errors(const show::ErrorMap& map, show::Section& out) {
  out.pictures = show::error_pictures(map, "the result");
  if (map.worst_dims.empty())
    add_note(out,
             "The case's own launch is within its bounds: the property compares it with other "
             "launches, or looks at something else than the result.");
}

void add_plan(const show::DrawnPlan& drawn, show::Section& out) {
  out.html += show::findings_html(drawn);
  out.pictures.push_back(requests_picture(drawn));
  out.pictures.push_back(slots_picture(drawn));
  out.pictures.push_back(merges_picture(drawn));
  if (auto mask = mask_picture(drawn)) out.pictures.push_back(std::move(*mask));
}

// One for each work that made the worst element; one that says so where there is none.
std::vector<show::Finding> guilty(const show::ErrorMap& map,
                                  const std::vector<std::int64_t>& works) {
  const std::string where =
      say("row ", map.worst_row, " head ", map.worst_head, ", the worst of the result");
  if (works.empty()) return {{"guilty", "no work computes " + where, -1}};
  std::vector<show::Finding> findings;
  for (const std::int64_t i : works)
    findings.push_back({"guilty", say("work ", i, " computes ", where), i});
  return findings;
}

void add_violations(const std::vector<plan::Violation>& violations,
                    std::vector<show::Finding>& findings) {
  for (const plan::Violation& v : violations)
    findings.push_back({std::string(plan::name(v.rule)), v.what, v.work});
}

show::Section decode_pictures(prop::Subject& subject) {
  show::Section out;
  if (!subject.metadata()) {
    add_note(out, "There is no plan: " + subject.metadata().error().message);
    return out;
  }
  show::ErrorMap map;
  if (!subject.result()) {
    add_note(out, "There is no result: " + subject.result().error().message);
  } else if (subject.reference()) {
    map = error_map_of({subject.result()->out, subject.result()->lse, *subject.reference(),
                        subject.spec().heads, subject.spec().widths().value().count()});
    add_errors(map, out);
  }
  const DecodeMetadata& metadata = *subject.metadata();
  if (metadata.plan)
    add_plan(draw_metadata(metadata, map), out);
  else
    add_note(out, say("There is no plan to draw: route ", name(metadata.shape.route), ", ",
                      show::counted(metadata.shape.kv_splits, "split"), " of every request."));
  return out;
}

show::Section prefill_pictures(prop::Subject& subject) {
  show::Section out;
  if (!subject.prefill()) {
    add_note(out, "There is no result: " + subject.prefill().error().message);
    return out;
  }
  const prop::PrefillStep& step = *subject.prefill()->steps.front();
  const show::ErrorMap map =
      error_map_of({step.result.out, step.result.lse, subject.prefill_reference(), step.spec.heads,
                    prefill::kVDim});
  add_errors(map, out);
  if (!step.metadata.fp8) {
    const auto& why = step.shape.fallback;
    add_note(out, say("There is no plan to draw: path ", name(step.shape.path),
                      why.empty() ? "" : ": " + why.front(), "."));
    return out;
  }
  if (!step.context_plans.empty())
    add_note(out, say("The plan is that of the new tokens. Not drawn: ",
                      show::counted(std::ssize(step.context_plans), "plan"), " of the context."));
  std::vector<std::int32_t> keys;
  const plan::PsCheckInput input = prop::check_input_of(
      {.plan = step.plan, .heads = step.shape.heads.kernel.count(), .causal = true}, keys);
  std::vector<show::Finding> findings;
  if (!map.worst_dims.empty())
    findings = guilty(map, prop::prefill_works_of(step, map.worst_row, map.worst_head));
  add_violations(plan::ps_check(input), findings);
  add_plan(show::draw_prefill_plan(input, prefill::kUnitTokens, std::move(findings)), out);
  return out;
}

show::Section fa_pictures(prop::Subject& subject) {
  show::Section out;
  if (!subject.fa()) {
    add_note(out, "There is no result: " + subject.fa().error().message);
    return out;
  }
  const std::vector<prop::FaStepRun>& steps = *subject.fa();
  show::ErrorMap map;
  std::size_t at = 0;
  for (std::size_t i = 0; i < steps.size() && map.worst_dims.empty(); ++i) {
    const cpu::ReferenceResult reference = prop::reference_of(steps[i]);
    map = error_map_of({steps[i].result.out,
                        {},
                        reference,
                        steps[i].layer.heads.count(),
                        steps[i].layer.head_dim});
    at = i;
  }
  add_errors(map, out);
  add_note(out, say(steps.size() > 1 ? say("The errors are those of step ", at, ". ") : "",
                    "An FA step has no plan."));
  return out;
}

}  // namespace

show::ErrorMap error_map_of(const JudgedResult& judged) {
  const cpu::ReferenceResult& reference = judged.reference;
  const auto dims = static_cast<std::size_t>(judged.dims);
  show::ErrorMap map;
  map.heads = judged.heads;
  map.dims = judged.dims;
  const auto pairs = std::min(judged.out.size(), reference.out.size()) / dims;
  map.rows = static_cast<std::int64_t>(pairs) / judged.heads;
  const bool lse = !reference.lse.empty() && judged.lse.size() >= pairs;
  float worst = -2;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    float ratio = show::kNotJudged;
    for (std::size_t d = 0; d < dims; ++d)
      ratio = std::max(ratio, out_ratio(judged, pair * dims + d));
    if (lse)
      ratio =
          std::max(ratio, ratio_of(judged.lse[pair], reference.lse[pair], reference.lse_bound[pair],
                                   std::bit_cast<std::uint32_t>(judged.lse[pair]) == kPoisonF32));
    map.pairs.push_back(ratio);
    if (ratio <= worst) continue;
    worst = ratio;
    map.worst_row = static_cast<std::int64_t>(pair) / judged.heads;
    map.worst_head = static_cast<std::int64_t>(pair) % judged.heads;
  }
  if (worst <= 1) return map;
  const auto first = static_cast<std::size_t>(map.worst_row * judged.heads) * dims;
  for (std::size_t i = first; i < first + static_cast<std::size_t>(judged.heads) * dims; ++i)
    map.worst_dims.push_back(out_ratio(judged, i));
  return map;
}

show::DrawnPlan draw_metadata(const DecodeMetadata& metadata, const show::ErrorMap& map) {
  const plan::Plan& plan = *metadata.plan;
  std::vector<show::Finding> findings;
  if (!map.worst_dims.empty()) {
    const std::int64_t row = prop::kernel_row_of(metadata.shape, map.worst_row, map.worst_head);
    std::vector<std::int64_t> works;
    for (std::int64_t i = 0; i < plan.works(); ++i)
      if (const plan::WorkItem w = plan.work(i); w.q_begin <= row && row < w.q_end)
        works.push_back(i);
    findings = guilty(map, works);
  }
  add_violations(plan::plan_check(check_input_of(metadata)), findings);
  return show::draw_plan(check_input_of(metadata),
                         {.known = metadata.shape.planner == plan::PlannerVersion::v1_2,
                          .granularity = metadata.shape.granularity,
                          .max_split = metadata.shape.max_split},
                         std::move(findings));
}

show::Section pictures_of_case(const Case& c, const Backend& backend,
                               const prop::Interposer* defect) {
  prop::Subject subject(c, backend, defect);
  if (c.kind() == StepKind::fa) return fa_pictures(subject);
  show::Section out =
      c.kind() == StepKind::prefill ? prefill_pictures(subject) : decode_pictures(subject);
  if (!c.later_steps.empty())
    add_note(out, say("Drawn is the first of ", c.later_steps.size() + 1, " steps."));
  return out;
}

}  // namespace mla::app

#include "properties/claims/p41_planners_valid/planner_steps.hpp"

#include "core/plan/plan_check.hpp"
#include "core/say.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

using Sentence = std::optional<std::string>;

// The plan as the planner leaves it, empty works included.
Result<plan::Plan> raw_plan(const Subject& subject, const PlanQuestion& question) {
  const Functions functions = functions_of(subject);
  const auto sizes = functions.query_sizes(question.query);
  if (!sizes) return sizes.error();
  return functions.make_plan(question.input, *sizes);
}

}  // namespace

Sentence several_tiles_declined(const Subject& subject, Random& random) {
  Case c;
  c.arch = Arch::gfx950;
  c.compute_units = product_compute_units(c.arch).count();
  c.requests.assign(static_cast<std::size_t>(random.between(1, 3)),
                    {random.between(9, 17), random.between(200, 900)});
  for (const PlannerChoice planner :
       {PlannerChoice::automatic, PlannerChoice::v12_serial, PlannerChoice::v11}) {
    c.planner = planner;
    Subject step = subject.sibling(c);
    if (!step.metadata())
      return say("planner ", name(planner), " declines ", format_case(c), ": ",
                 step.metadata().error().message);
  }
  return std::nullopt;
}

Sentence trailing_works_named(const Subject& subject) {
  Case c;
  c.requests = {{1, 0}, {1, 100}, {1, 100}, {1, 0}};
  c.planner = PlannerChoice::v12_serial;
  Subject step = subject.sibling(c);
  const auto& metadata = step.metadata();
  if (!metadata) return "it is declined: " + metadata.error().message;
  const auto plan = raw_plan(step, step.builder().question(*metadata));
  if (!plan) return format_case(c) + " is declined: " + plan.error().message;
  if (plan->works() <= metadata->plan->works())
    return "the planner leaves no empty work for " + format_case(c);
  plan::PlanCheckInput input = check_input_of(*metadata);
  input.plan = plan->view();
  const auto violations = plan::plan_check(input);
  if (violations.empty()) return std::nullopt;
  return say("the planner's own plan of ", format_case(c), " is not valid: ", violations[0].what);
}

Sentence untold_single_rows_differ(const Subject& subject, const DecodeMetadata& metadata) {
  const ResolvedShape& shape = metadata.shape;
  if (shape.planner_kernel != plan::V12Kernel::serial || shape.uniform_qo_len != 1)
    return std::nullopt;
  PlanQuestion question = subject.builder().question(metadata);
  const auto told = raw_plan(subject, question);
  question.input.key.max_qo_len = -1;  // AITER's default
  const auto alike = resolve_plan_shape(question.input.key);
  if (!told || !alike || alike->fold_ratio != shape.plan.fold_ratio ||
      alike->tile_rows(1) != shape.plan.tile_rows(1))
    return std::nullopt;
  const auto untold = raw_plan(subject, question);
  if (!untold)
    return "told no max_seqlen_qo, it refuses requests of one row: " + untold.error().message;
  if (*untold != *told)
    return "told no max_seqlen_qo, it makes another plan of requests of one row";
  return std::nullopt;
}

}  // namespace mla::prop

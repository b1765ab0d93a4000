// P41: every planner that takes the case makes a valid plan of it, whichever the case names, and
// whether it is told of the longest request or not.
#include <utility>

#include "core/plan/plan_check.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

using Sentence = std::optional<std::string>;

constexpr PlannerChoice kPlanners[] = {PlannerChoice::v12_serial, PlannerChoice::v12_parallel,
                                       PlannerChoice::v11, PlannerChoice::v10};

// The plan as the planner leaves it, empty works included.
Result<plan::Plan> raw_plan(const Subject& subject, const PlanQuestion& question) {
  const Functions functions = functions_of(subject);
  const auto sizes = functions.query_sizes(question.query);
  if (!sizes) return sizes.error();
  return functions.make_plan(question.input, *sizes);
}

// The rule that the plan for the lists of `metadata` breaks where the planner is told no
// max_seqlen_qo. It may refuse to plan so.
Sentence untold_plan_broken(const Subject& subject, const DecodeMetadata& metadata,
                            Random& random) {
  PlanQuestion question = subject.builder().question(metadata);
  // AITER's default is -1, with which its planner leaves short tails (BUG-012); 0 is as good.
  question.input.key.max_qo_len = random.between(-1, 0);
  auto made = raw_plan(subject, question);
  if (!made) return std::nullopt;
  const plan::Plan plan = without_empty_works(std::move(*made));  // as an engine does
  plan::PlanCheckInput input = check_input_of(metadata);
  input.plan = plan.view();
  const auto violations = plan::plan_check(input);
  if (violations.empty()) return std::nullopt;
  return say("told max_seqlen_qo = ", question.input.key.max_qo_len, ", breaks the rule ",
             name(violations[0].rule), ": ", violations[0].what);
}

// Requests of one row each, which the serial planner is not told of, get another plan than those it
// is told of, although it folds and cuts them alike.
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

Outcome decode_planners_valid(Subject& subject) {
  if (const auto& shape = subject.shape(); !shape) return refusal(shape.error());
  Random random(subject.spec(), "P41");
  bool any = false;
  for (const PlannerChoice planner : kPlanners) {
    Case other = subject.spec();
    other.planner = planner;
    other.decode().kv_splits = 0;
    Subject sibling = subject.sibling(other);
    const auto& metadata = sibling.metadata();
    // A planner may decline; buffers that are too small for its plan are the engine's mistake.
    if (!metadata && metadata.error().code == ErrorCode::overrun)
      return failed(say("planner ", name(planner), " has no room: ", metadata.error().message));
    if (!metadata || !metadata->plan) continue;
    any = true;
    const auto violations = plan::plan_check(check_input_of(*metadata));
    if (!violations.empty())
      return failed(say("planner ", name(planner), " breaks the rule ", name(violations[0].rule),
                        ": ", violations[0].what));
    if (const auto why = untold_plan_broken(sibling, *metadata, random))
      return failed(say("planner ", name(planner), ", ", *why));
    if (const auto why = untold_single_rows_differ(sibling, *metadata))
      return failed(say("planner ", name(planner), ", ", *why));
  }
  return any ? passed() : skipped("no planner takes the case");
}

}  // namespace

constexpr Property kP41{"P41", "planners_valid",
                        "Every planner that takes the case makes a valid plan of it, told of the "
                        "longest request or not.",
                        by_kind<decode_planners_valid, nullptr, nullptr>};

}  // namespace mla::prop

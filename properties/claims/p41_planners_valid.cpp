// P41: every planner that takes the case makes a valid plan of it, whichever the case names, and
// whether it is told of the longest request or not; a plain step is taken by all of them.
#include "core/plan/plan_check.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

constexpr PlannerChoice kPlanners[] = {PlannerChoice::v12_serial, PlannerChoice::v12_parallel,
                                       PlannerChoice::v11, PlannerChoice::v10};

// One row of 16 bf16 heads a request, with as many keys as v1.0 wants.
Case plain_step(Random& random) {
  Case c;
  c.arch = random.below(2) == 0 ? Arch::gfx942 : Arch::gfx950;
  c.compute_units = product_compute_units(c.arch).count();
  c.decode().max_split = 32;
  c.requests.assign(static_cast<std::size_t>(random.between(1, 3)), {1, random.between(200, 900)});
  return c;
}

// AITER's default for max_seqlen_qo, with which its planner leaves short tails (BUG-012).
constexpr std::int64_t kNotTold = -1;

// The rule that a plan for the same lists breaks whose planner is not told of the longest request.
std::optional<std::string> broken_untold(const Subject& subject, const DecodeMetadata& metadata) {
  PlanQuestion question = subject.builder().question(metadata);
  question.input.key.max_qo_len = kNotTold;
  const Functions functions = functions_of(subject);
  const auto sizes = functions.query_sizes(question.query);
  if (!sizes) return std::nullopt;
  auto made = functions.make_plan(question.input, *sizes);
  if (!made) return std::nullopt;
  const plan::Plan plan = without_empty_works(std::move(*made));  // as an engine does
  plan::PlanCheckInput input = check_input_of(metadata);
  input.plan = plan.view();
  const auto violations = plan::plan_check(input);
  if (violations.empty()) return std::nullopt;
  return say("told no max_seqlen_qo, breaks the rule ", name(violations[0].rule), ": ",
             violations[0].what);
}

Outcome decode_planners_valid(Subject& subject) {
  if (const auto& shape = subject.shape(); !shape) return refusal(shape.error());
  bool any = false;
  for (const PlannerChoice planner : kPlanners) {
    Case other = subject.spec();
    other.planner = planner;
    Subject sibling = subject.sibling(other);
    const auto& metadata = sibling.metadata();
    if (!metadata || !metadata->plan) continue;
    any = true;
    const auto violations = plan::plan_check(check_input_of(*metadata));
    if (!violations.empty())
      return failed(say("planner ", name(planner), " breaks the rule ", name(violations[0].rule),
                        ": ", violations[0].what));
    if (const auto why = broken_untold(sibling, *metadata))
      return failed(say("planner ", name(planner), ", ", *why));
  }
  Random random(subject.spec(), "P41");
  Case plain = plain_step(random);
  for (const PlannerChoice planner : kPlanners) {
    plain.planner = planner;
    Subject step = subject.sibling(plain);
    if (!step.metadata())
      return failed(say("planner ", name(planner), " declines ", format_case(plain), ": ",
                        step.metadata().error().message));
  }
  return any ? passed() : skipped("no planner takes the case");
}

}  // namespace

constexpr Property kP41{"P41", "planners_valid",
                        "Every planner that takes the case makes a valid plan of it, told of the "
                        "longest request or not, "
                        "and all take a plain one.",
                        by_kind<decode_planners_valid, nullptr, nullptr>};

}  // namespace mla::prop

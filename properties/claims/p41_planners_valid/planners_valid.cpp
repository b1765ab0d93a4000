// P41: every planner that takes the case makes a valid plan of it, whichever the case names, and
// whether it is told of the longest request or not; a plain step is taken by all of them.
#include <utility>

#include "core/plan/plan_check.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/p41_planners_valid/plain_steps.hpp"
#include "properties/claims/p41_planners_valid/planner_steps.hpp"
#include "properties/claims/support/support.hpp"

namespace mla::prop {
namespace {

constexpr PlannerChoice kPlanners[] = {PlannerChoice::v12_serial, PlannerChoice::v12_parallel,
                                       PlannerChoice::v11, PlannerChoice::v10};

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
    if (const auto why = wrong_untold(sibling, *metadata, random, Untold::planned_or_refused))
      return failed(say("planner ", name(planner), ", ", *why));
    if (const auto why = untold_single_rows_differ(sibling, *metadata))
      return failed(say("planner ", name(planner), ", ", *why));
  }
  if (auto why = plain_step_misplanned(subject, random)) return failed(std::move(*why));
  if (auto why = several_tiles_declined(subject, random)) return failed(std::move(*why));
  if (auto why = trailing_works_named(subject)) return failed(std::move(*why));
  return any ? passed() : skipped("no planner takes the case");
}

}  // namespace

constexpr Property kP41{"P41", "planners_valid",
                        "Every planner that takes the case makes a valid plan of it, told of the "
                        "longest request or not, "
                        "and all take a plain one.",
                        by_kind<decode_planners_valid, nullptr, nullptr>};

}  // namespace mla::prop

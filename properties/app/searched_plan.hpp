// The plan that the search finds for a step, where it finds one, in place of the planner's.
//
// Nothing is measured: it is better by predict() alone (docs/findings/time.md).
#pragma once

#include "core/case/case.hpp"
#include "core/engine/backend.hpp"
#include "core/result.hpp"
#include "core/time/plan_search.hpp"
#include "properties/dump/read/bundle.hpp"
#include "properties/step/context.hpp"

namespace mla::app {

// Hooks of any step; one that has no better plan keeps its own.
class SearchedPlan final : public prop::Interposer {
 public:
  void on_plan(const DecodeMetadata& metadata, plan::Plan& plan) const override;
};

// The lists and the searched plan of a case; with its tensors and what the backend makes of the
// plan, if there is a backend. Fails: as time_step() and capture_case().
Result<dump::Bundle> searched_bundle(const Case& c, const Backend* backend);
// A bundle with another plan of the same sizes, for an engine to launch. What it has of the other
// plan at the launch, and of that plan's result, is left out.
dump::Bundle with_plan(dump::Bundle bundle, const timing::BetterPlan& better);

}  // namespace mla::app

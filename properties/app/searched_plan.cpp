#include "properties/app/searched_plan.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/say.hpp"
#include "core/time/plan_search.hpp"
#include "properties/app/capture_case.hpp"
#include "properties/app/planned_step.hpp"
#include "properties/app/step_time.hpp"
#include "properties/dump/write/plan.hpp"

namespace mla::app {

void SearchedPlan::on_plan(const DecodeMetadata& metadata, plan::Plan& plan) const {
  auto search = timing::search_plan(timing::planned_step_of(metadata, plan.view()));
  if (search && search->better) plan = std::move(search->better->plan);
}

Result<dump::Bundle> searched_bundle(const Case& c, const Backend* backend) {
  const SearchedPlan searched;
  if (backend != nullptr) return capture_case(c, *backend, searched);
  const auto planned = plan_decode_step(c, plan::Fidelity::safe, searched);
  if (!planned) return planned.error();
  return dump::bundle_of(planned->document);
}

dump::Bundle with_plan(dump::Bundle bundle, const timing::BetterPlan& better) {
  nlohmann::ordered_json document = {{"format", "mla-testbed plan 1"}};
  dump::write_plan(document, better.plan.sizes(), better.plan);
  const dump::Bundle written = dump::bundle_of(document.dump());
  nlohmann::ordered_json scalars = *bundle.scalars;
  scalars["predicted"] = prediction_json(better.predicted);
  scalars["buffer_sizes"] = (*written.scalars)["buffer_sizes"];
  for (const char* result : {"out", "lse"}) bundle.arrays.erase(result);
  for (const dump::PlanList& list : dump::kPlanLists) {
    for (const char* prefix : {"", "launch_"}) {
      bundle.arrays.erase(say(prefix, list.key));
      scalars.erase(say(prefix, list.key));
    }
    bundle.arrays[list.key] = written.arrays.at(list.key);
  }
  bundle.scalars = std::make_shared<const nlohmann::ordered_json>(std::move(scalars));
  return bundle;
}

}  // namespace mla::app

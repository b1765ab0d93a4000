#include "properties/step/prefill/config.hpp"

#include <algorithm>

#include "core/engine/prefill/capability.hpp"
#include "core/shape/head_padding.hpp"

namespace mla::prop {

using namespace prefill;

Limits limits_of(const std::vector<Case>& steps) {
  Limits limits;
  for (const Case& c : steps) {
    std::int64_t rows = 0;
    for (const RequestSpec& r : c.requests) {
      rows += r.qo_len;
      limits.max_model_len = std::max(limits.max_model_len, Tokens(r.kv_len));
    }
    limits.max_rows = std::max(limits.max_rows, Rows(rows));
    limits.max_requests =
        std::max(limits.max_requests, Requests(static_cast<std::int64_t>(c.requests.size())));
  }
  return limits;
}

EngineConfig config_of(const Case& c, const Limits& limits, const prefill::Hooks& hooks,
                       const plan::StepPlanner* planner) {
  const auto heads = resolve_head_padding(Heads(c.heads));
  return {.fp8 = capability_of(c, hooks).ok(),
          .compute_units = ComputeUnits(c.compute_units),
          .kernel_heads = heads.ok() ? heads->kernel : Heads(c.heads),
          .limits = limits,
          .workspace_tokens = c.prefill().workspace_tokens,
          .context_plans = c.planner == PlannerChoice::v12,
          .bound = ScratchBound::token_budget,
          .planner = planner};
}

}  // namespace mla::prop

#include "properties/claims/support/prefill_scratch.hpp"

#include <algorithm>

namespace mla::prop {
namespace {

using namespace prefill;

// Batches that fill the limits: one request, all of them, and a few between.
std::vector<std::vector<std::int32_t>> full_batches(const Limits& limits, Random& random) {
  const std::int64_t rows = limits.max_rows.count();
  const std::int64_t longest = std::min(limits.max_model_len.count(), rows);
  std::vector<std::int64_t> counts{1, limits.max_requests.count()};
  while (counts.size() < 6) counts.push_back(random.between(1, limits.max_requests.count()));
  std::vector<std::vector<std::int32_t>> batches;
  for (const std::int64_t count : counts) {
    std::vector<std::int32_t> starts{0};
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t left = rows - starts.back();
      const std::int64_t fair = ceil_div(left, count - r);
      const std::int64_t take =
          r % 2 == 0 ? fair : random.between(1, std::max<std::int64_t>(1, fair));
      const std::int64_t q = std::min({take, left, longest});
      if (q > 0) starts.push_back(starts.back() + static_cast<std::int32_t>(q));
    }
    batches.push_back(std::move(starts));
  }
  return batches;
}

// The plans of a step with these rows: that of the new tokens, and that of a chunk that fills the
// workspace with context of all requests.
std::vector<PlannedLists> lists_of(const std::vector<std::int32_t>& starts,
                                   const EngineConfig& config) {
  std::vector<PlannedLists> lists{new_token_lists(starts)};
  const auto requests = static_cast<std::int64_t>(starts.size()) - 1;
  const std::int64_t each = config.workspace_tokens / requests;
  if (!config.context_plans || each == 0) return lists;
  PlannedLists context{starts, {0}, {}, false};
  for (std::int64_t r = 0; r < requests; ++r) {
    context.context_lens.push_back(static_cast<std::int32_t>(each));
    context.kv_indptr.push_back(context.kv_indptr.back() + static_cast<std::int32_t>(each));
  }
  lists.push_back(std::move(context));
  return lists;
}

}  // namespace

std::vector<EngineConfig> configs_of(const Subject& subject) {
  const Case& c = subject.spec();
  const auto with = [&](const Limits& limits) {
    return config_of(c, limits, subject.hooks(), subject.backend().planner());
  };
  std::vector<EngineConfig> configs{with(limits_of({c}))};
  configs.push_back(with({Requests(32), Rows(4096), Tokens(2048)}));
  configs.back().workspace_tokens =
      context_workspace_tokens(Tokens(2048), Requests(32), c.block_size);
  // Few tiles on many units: the units of a context are what bounds the pieces.
  configs.push_back(with({Requests(1), Rows(300), Tokens(2048)}));
  configs.back().compute_units = ComputeUnits(256);
  configs.back().kernel_heads = Heads(16);
  configs.back().workspace_tokens = 1024;
  configs.back().context_plans = true;
  for (EngineConfig& config : configs) config.fp8 = true;
  return configs;
}

Result<WorstScratch> worst_scratch(const EngineConfig& config, const prefill::Hooks& hooks,
                                   Random& random) {
  const auto sizes = plan_sizes(config);
  if (!sizes) return sizes.error();
  WorstScratch worst;
  for (const auto& starts : full_batches(config.limits, random)) {
    for (const PlannedLists& lists : lists_of(starts, config)) {
      const auto plan = plan_prefill(lists, config, *sizes, hooks);
      if (!plan) return plan.error();
      const std::int64_t tiles = host_plan(starts, {}, *plan).num_partial_tiles;
      const ScratchLayout layout = scratch_layout(tiles, config.kernel_heads, Rows(starts.back()));
      worst.tiles = std::max(worst.tiles, tiles);
      worst.bytes = std::max(worst.bytes, layout.bytes());
    }
  }
  return worst;
}

}  // namespace mla::prop

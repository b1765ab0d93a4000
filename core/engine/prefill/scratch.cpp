#include "core/engine/prefill/scratch.hpp"

#include <algorithm>
#include <numeric>

#include "core/engine/prefill/prefill_shape.hpp"

namespace mla::prefill {
namespace {

// Units of new rows in tiles that can be cut, over all requests of a batch with `rows` rows of
// which none has more than `longest`.
std::int64_t most_units(std::int64_t rows, std::int64_t longest) {
  std::int64_t most = 0;
  for (std::int64_t q = kUnitTokens + 1; q <= longest; q += kUnitTokens) {
    std::int64_t units = 0;
    for (std::int64_t end = kTileRows; end < q + kTileRows; end += kTileRows)
      if (const std::int64_t u = ceil_div(std::min(end, q), kUnitTokens); u > 1) units += u;
    most = std::max(most, ceil_div(rows * units, q));
  }
  return most;
}

}  // namespace

plan::PsSizeQuery size_query_of(const EngineConfig& config) {
  const Limits& limits = config.limits;
  return {.compute_units = config.compute_units,
          .batch = limits.max_requests,
          .kv_heads = config.kernel_heads,
          .max_qo_len = std::min(limits.max_model_len.count(), limits.max_rows.count()),
          .qlen_granularity = kTileRows};
}

Result<plan::BufferSizes> plan_sizes(const EngineConfig& config) {
  return plan_sizes(config, size_query_of(config));
}

Result<plan::BufferSizes> plan_sizes(const EngineConfig& config, const plan::PsSizeQuery& query) {
  return config.planner != nullptr ? config.planner->prefill_sizes(query)
                                   : plan::query_ps_sizes(query);
}

ScratchLayout scratch_layout(std::int64_t partial_tiles, Heads kernel_heads, Rows rows) {
  const std::int64_t pairs = partial_tiles * kTileRows * kernel_heads.count();
  return {pairs * kVDim, pairs, rows.count() * kernel_heads.count()};
}

std::int64_t most_partial_tiles(const EngineConfig& config) {
  const std::int64_t groups = std::gcd(config.kernel_heads.count(), config.compute_units.count());
  const std::int64_t cuts = config.compute_units.count() / groups - 1;
  const std::int64_t rows = config.limits.max_rows.count();
  const std::int64_t tiles = ceil_div(rows, kTileRows) + config.limits.max_requests.count() - 1;
  const std::int64_t by_cuts = std::min(2 * cuts, tiles + cuts);
  std::int64_t units = most_units(rows, size_query_of(config).max_qo_len);
  if (config.context_plans && config.workspace_tokens > kUnitTokens)
    units = std::max(units, tiles * ceil_div(config.workspace_tokens, kUnitTokens));
  return std::min(by_cuts, units);
}

MaybeError reserve_scratch(const EngineConfig& asked, device::Workspace& workspace,
                           const Hooks& hooks) {
  EngineConfig config = asked;
  hooks.on_reserve(config);
  if (!config.fp8) return std::nullopt;
  std::int64_t tiles = most_partial_tiles(config);
  if (config.bound == ScratchBound::size_query) {
    const auto sizes = plan_sizes(config);
    if (!sizes) return sizes.error();
    tiles = sizes->reduce_partial_map;
  }
  const ScratchLayout layout = scratch_layout(tiles, config.kernel_heads, config.limits.max_rows);
  return workspace.reserve("fp8 prefill", layout.bytes());
}

}  // namespace mla::prefill

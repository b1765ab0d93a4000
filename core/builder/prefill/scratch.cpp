#include "core/builder/prefill/scratch.hpp"

#include <algorithm>
#include <numeric>

#include "core/builder/prefill/prefill_shape.hpp"

namespace mla::prefill {

plan::PsSizeQuery size_query_of(const EngineConfig& config) {
  const Limits& limits = config.limits;
  return {.compute_units = config.compute_units,
          .batch = limits.max_requests,
          .kv_heads = config.kernel_heads,
          .max_qo_len = std::min(limits.max_model_len.count(), limits.max_rows.count()),
          .qlen_granularity = kTileRows};
}

ScratchLayout scratch_layout(std::int64_t partial_tiles, Heads kernel_heads, Rows rows) {
  const std::int64_t pairs = partial_tiles * kTileRows * kernel_heads.count();
  return {pairs * kVDim, pairs, rows.count() * kernel_heads.count()};
}

std::int64_t most_partial_tiles(const EngineConfig& config) {
  const std::int64_t groups = std::gcd(config.kernel_heads.count(), config.compute_units.count());
  const std::int64_t cuts = config.compute_units.count() / groups - 1;
  const std::int64_t requests = config.limits.max_requests.count();
  const std::int64_t tiles = ceil_div(config.limits.max_rows.count(), kTileRows) + requests - 1;
  return std::min(2 * cuts, tiles + cuts);
}

Status reserve_scratch(const EngineConfig& config, device::Workspace& workspace) {
  if (!config.fp8) return std::nullopt;
  std::int64_t tiles = most_partial_tiles(config);
  if (config.bound == ScratchBound::size_query) {
    const auto sizes = plan::query_ps_sizes(size_query_of(config));
    if (!sizes) return sizes.error();
    tiles = sizes->reduce_partial_map;
  }
  const ScratchLayout layout = scratch_layout(tiles, config.kernel_heads, config.limits.max_rows);
  return workspace.reserve("fp8 prefill", layout.bytes());
}

}  // namespace mla::prefill

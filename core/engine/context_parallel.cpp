#include "core/engine/context_parallel.hpp"

#include <algorithm>

namespace mla {

Tokens local_length(Tokens global, const ContextShard& shard) {
  const std::int64_t length = global.count();
  const std::int64_t base = length / shard.interleave / shard.world * shard.interleave;
  const std::int64_t rest = length - base * shard.world - shard.rank * shard.interleave;
  return Tokens(base + std::clamp<std::int64_t>(rest, 0, shard.interleave));
}

Tokens longest_local_length(Tokens global, const ContextShard& shard) {
  return Tokens(ceil_div(global.count(), shard.world * shard.interleave) * shard.interleave);
}

std::int64_t global_position(std::int64_t local, const ContextShard& shard) {
  const std::int64_t run = local / shard.interleave;
  return (run * shard.world + shard.rank) * shard.interleave + local % shard.interleave;
}

}  // namespace mla

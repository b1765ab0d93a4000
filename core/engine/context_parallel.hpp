// Decode context parallelism: which keys of a request a rank holds.
//
// Keys are dealt to `world` ranks in runs of `interleave`: global position p belongs to rank
// (p / interleave) % world. Each rank attends its own keys; results are merged by their natural-log
// LSE (P24). Source: vLLM; spec vllm_metadata.md 1.1. Units: tokens.
// Takes world and interleave of at least 1, and a rank below world.
#pragma once

#include <cstdint>

#include "core/units.hpp"

namespace mla {

struct ContextShard {
  std::int64_t world = 1;
  std::int64_t interleave = 1;  // tokens
  std::int64_t rank = 0;
};

// Keys of a request of `global` keys that the rank holds.
Tokens local_length(Tokens global, const ContextShard& shard);
// Bound of local_length over all ranks: whole rounds of the deal.
Tokens longest_local_length(Tokens global, const ContextShard& shard);
// Global position of the rank's key `local`.
std::int64_t global_position(std::int64_t local, const ContextShard& shard);

}  // namespace mla

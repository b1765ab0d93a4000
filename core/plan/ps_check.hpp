// ps_check: whether the buffers of a persistent prefill step are a valid plan, said in words.
//
// What plan_check is for decode. It reads the buffers and the lengths, never a planner: for every
// request, tile of rows and group of heads the pieces lie end to end from the first key to the last
// that the tile sees, all heads of a piece share its partial rows, and the reduce lists name
// exactly the pieces of the tiles that are cut. An empty list means that each row is computed once,
// from all keys that it may see. Source: aiter.md 5. Nonsense in the buffers becomes violations; no
// index is followed unchecked.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/plan/plan_check.hpp"
#include "core/units.hpp"

namespace mla::plan {

struct PsCheckInput {
  PlanView plan;
  std::span<const std::int32_t> qo_indptr;     // [batch+1] rows
  std::span<const std::int32_t> kv_indptr;     // [batch+1] pages of block_size tokens
  std::span<const std::int32_t> context_lens;  // [batch] tokens, the new ones included
  Heads heads{1};                              // query heads of the kernel
  std::int64_t qhead_granularity = 1;          // query heads of one work
  std::int64_t qlen_granularity = 256;         // rows of a tile, and of a partial result
  std::int64_t block_size = 1;                 // tokens of a page
  bool causal = true;
  std::int64_t partial_tiles = -1;  // that the scratch has room for; -1: as many as are merged
  std::int64_t most_pieces = -1;    // as in PlanCheckInput
};

std::vector<Violation> ps_check(const PsCheckInput& input);

}  // namespace mla::plan

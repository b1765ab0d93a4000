// Splits of the non-persistent path: how many, and how fine.
//
// Source: AITER aiter/mla.py get_meta_param and the stage-2 merge; spec aiter.md 4,
// vllm_metadata.md 1.8. Fails: fp8 shapes that the original's block table has no entry for
// (BUG-078).
#pragma once

#include <cstdint>

#include "core/arch.hpp"
#include "core/result.hpp"

namespace mla::plan {

struct SplitQuery {
  ComputeUnits compute_units{304};
  Requests batch{1};
  // Keys of all requests. The live sum: the original takes the length of kv_indices, so that its
  // choice follows spare capacity when an engine passes the whole buffer (BUG-077).
  Tokens total_kv{0};
  Heads heads{16};
  std::int64_t max_qo_len = 1;
  DtypePair dtype;
  std::int64_t asked = 0;  // num_kv_splits of a caller without a list of its own; 0: none
};

// Splits of every request: the i in 1..16 with the best product of device occupancy and efficiency
// avg/(avg + 84.1 i), first maximum, or what the caller asks for; for an fp8 query at most one
// split for each block of keys.
Result<std::int64_t> split_count(const SplitQuery& query);

// Tokens of a KV tile: split z takes tiles z, z + splits, z + 2 splits, ...
std::int64_t split_granularity(Heads heads, std::int64_t max_qo_len, DtypePair dtype);

// Whether AITER's wrapper merges also where there is one split. Otherwise the kernel writes the
// output itself, and there is no final LSE (aiter/mla.py).
bool merges_one_split(Heads heads, std::int64_t max_qo_len, DtypePair dtype);

// Tokens of the tile that AITER's own kernel deals out to splits. Where it is not the above, splits
// hold other keys than the merge takes them to hold, and some hold none (AITER-07).
std::int64_t kernel_split_tile(Arch arch, Heads heads, std::int64_t max_qo_len, DtypePair dtype);

}  // namespace mla::plan

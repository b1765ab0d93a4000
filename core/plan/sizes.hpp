// Sizes of the six plan buffers, bit for bit as AITER's Python size query gives them.
//
// The query repeats the planner's native/fold decision in its own words (aiter.md 2); it is kept as
// it is, because engines allocate from it, and P07 checks it against PlanShape. Source:
// aiter/ops/attention.py get_mla_metadata_info_v1. Units in the field comments. Fails: head counts
// that are no multiple of 8.
#pragma once

#include <cstdint>

#include "core/arch.hpp"
#include "core/plan/plan_lists.hpp"
#include "core/result.hpp"

namespace mla::plan {

struct SizeQuery {
  Arch arch = Arch::gfx942;
  ComputeUnits compute_units{304};
  Requests batch{1};
  std::int64_t max_qo_len = 1;  // rows of the longest request
  Heads heads{16};
  DtypePair dtype{};
  bool sparse = false;
  bool fast_mode = true;
  std::int64_t num_kv_splits = 32;  // read only with intra_batch_mode
  bool intra_batch_mode = false;
  std::int64_t max_split_per_batch = -1;  // <= 0: no cap
  bool experimental = false;              // AITER_ENABLE_EXPERIMENTAL
};

struct BufferSizes {
  std::int64_t work_meta_data = 2;      // uint64 words
  std::int64_t work_indptr = 0;         // int32
  std::int64_t work_items = 0;          // rows of 8 int32
  std::int64_t reduce_indptr = 0;       // int32
  std::int64_t reduce_final_rows = 0;   // rows of 2 int32
  std::int64_t reduce_partial_map = 0;  // int32
  bool operator==(const BufferSizes&) const = default;
};

// The words of each list.
constexpr PlanLists<std::int64_t> words_of(const BufferSizes& sizes) {
  return {sizes.work_indptr, sizes.work_items * kWorkItemWords, sizes.reduce_indptr,
          sizes.reduce_final_rows * 2, sizes.reduce_partial_map};
}

Result<BufferSizes> query_sizes(const SizeQuery& query);

// Tiles of one request as the size query counts them (its own predicate, for P07).
std::int64_t query_tiles(const SizeQuery& query);

}  // namespace mla::plan

// The host planner of the persistent prefill kernels: causal tiles dealt out in equal units.
//
// Owns: its input, its size query and the plan. The plan uses the same buffers as the decode
// planners; word 7 of a work item holds the query heads, (end << 16) | begin, every element is
// written (zeros where nothing else belongs), and the original leaves work_meta_data alone. Source:
// AITER csrc/kernels/mla/metadata/v1_2_host.cuh, aiter/ops/attention.py get_ps_metadata_info_v1;
// spec aiter.md 5. Fails: granularities it cannot work with, refused_requests (safe), buffers too
// small (safe).
#pragma once

#include <cstdint>
#include <span>

#include "core/plan/plan.hpp"
#include "core/plan/planner.hpp"
#include "core/result.hpp"
#include "core/units.hpp"

namespace mla::plan {

struct PsSizeQuery {
  ComputeUnits compute_units{304};
  Requests batch{1};
  Heads kv_heads{1};
  std::int64_t max_qo_len = 1;          // rows of the longest request
  std::int64_t qlen_granularity = 256;  // rows of a tile
};

Result<BufferSizes> query_ps_sizes(const PsSizeQuery& query);

struct PsInput {
  ComputeUnits compute_units{304};
  Heads kv_heads{1};
  std::span<const std::int32_t> qo_indptr{};     // [batch+1] rows
  std::span<const std::int32_t> kv_indptr{};     // [batch+1] pages of block_size tokens
  std::span<const std::int32_t> context_lens{};  // [batch] tokens, the new ones included
  std::int64_t qhead_granularity = 1;            // query heads of one work
  std::int64_t qlen_granularity = 256;           // rows of a tile
  std::int64_t kvlen_granularity = 16;           // tokens of a unit, a power of two
  std::int64_t block_size = 16;                  // tokens of a page, divides kvlen_granularity
  bool causal = true;
  Fidelity fidelity = Fidelity::safe;

  [[nodiscard]] std::int64_t batch() const {
    return static_cast<std::int64_t>(qo_indptr.size()) - 1;
  }
};

// Why no plan of the original is valid, in lists that it takes: a request has fewer keys than rows,
// fewer pages than its keys take, or pages without keys that its rows would read.
MaybeError refused_requests(const PsInput& input);

Result<Plan> plan_ps_prefill(const PsInput& input, const BufferSizes& sizes);

}  // namespace mla::plan

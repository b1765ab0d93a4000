// PrefillMetadata: what the prefill part of a step hands to the kernels.
//
// All state of a step lives here. The ten fields of the fp8 plan are one value, there exactly on
// the fp8 paths; the context chunks are there exactly if some request has context. Views into
// device memory are those of PrefillBuffers, but for the plans over context chunks, which the
// metadata owns: it outlives the kernels that were queued with it. Units: rows, tokens, blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/case/batch.hpp"
#include "core/engine/prefill/chunks.hpp"
#include "core/engine/prefill/plan_buffers.hpp"
#include "core/engine/prefill/prefill_shape.hpp"
#include "core/lifetime.hpp"

namespace mla::prefill {

// The plan over one context chunk, with the memory that it is copied from and to.
struct ContextPlan {
  HostPlan host;
  PlanBuffers buffers;
  PlanFields fields;
};

struct PrefillMetadata {
  PrefillShape shape;
  std::vector<std::int32_t> query_start_loc;  // [requests + 1] rows, from 0
  std::vector<std::int64_t> context_lens;     // [requests] tokens cached before the step
  std::vector<std::int32_t> block_table;      // [requests, columns]
  std::int64_t columns = 0;
  std::optional<PlanFields> fp8;
  std::optional<ContextChunks> context;
  std::vector<ContextPlan> context_plans;  // path fp8_context: one for each chunk

  [[nodiscard]] Requests requests() const {
    return Requests(static_cast<std::int64_t>(query_start_loc.size()) - 1);
  }
  [[nodiscard]] Rows rows() const { return Rows(query_start_loc.back()); }
  [[nodiscard]] BlockTableView table() const MLA_LIFETIME_BOUND {
    return {block_table.data(), requests().count(), columns, columns, 1};
  }
};

}  // namespace mla::prefill

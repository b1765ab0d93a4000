// Runner: what an engine does before it calls the FA builder, on the modelled device.
//
// Puts the requests in the order decodes, extends, prefills, and copies their lists into buffers
// whose addresses never change; what an earlier, longer step left after the live part stays there.
// Source: spec vllm_metadata.md 1.1, 5.2. Units: requests, rows, slots. Fails: a step beyond the
// limits.
#pragma once

#include <cstdint>
#include <vector>

#include "core/case/batch.hpp"
#include "core/case/case.hpp"
#include "core/engine/fa/builder.hpp"

namespace mla::fa {

// Rows that a decode has at most, and with it the region of every request.
std::int64_t decode_threshold(const Case& c);

// The batch of a case in the order in which the engine runs it.
struct OrderedBatch {
  Batch batch;
  std::vector<std::int64_t> origin;  // [requests] place of each in the case; padding comes last
};
Result<OrderedBatch> make_ordered_batch(const Case& c);

struct RunnerLimits {
  std::int64_t max_requests = 1;
  std::int64_t max_rows = 1;
  std::int64_t max_columns = 1;  // blocks of a request: the stride of the block table
};
// The smallest limits that hold both.
RunnerLimits largest(const RunnerLimits& a, const RunnerLimits& b);
RunnerLimits limits_of(const Batch& batch);

struct RunnerBuffers {
  RunnerBuffers(const RunnerLimits& limits, device::DeviceHeap& heap);
  device::DeviceBuffer<std::int32_t> query_start_loc;  // [max requests + 1]
  device::DeviceBuffer<std::int32_t> seq_lens;         // [max requests]
  device::DeviceBuffer<std::int32_t> block_table;      // [max requests, columns]
  device::DeviceBuffer<std::int64_t> slot_mapping;     // [max rows]
  std::int64_t columns = 1;
};

// Slot of the cache for each row's own key: -1 for the rows of a request without keys.
std::vector<std::int64_t> slot_mapping_of(const Batch& batch);

// Rows of the block table with the stride `columns`; entries after a request's blocks are -1.
std::vector<std::int32_t> table_rows_of(const Batch& batch, std::int64_t columns);

// Queues the copies of one step and describes it. One causal flag for each layer of the group.
Result<StepInput> stage_step(const Batch& batch, std::vector<bool> causal,
                             const RunnerBuffers& buffers, device::Stream& stream);

}  // namespace mla::fa

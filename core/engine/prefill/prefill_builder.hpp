// The prefill builder: from a batch and its shape to the metadata of one step, on a device.
//
// Buffers are made once for the declared limits; a build writes host memory and queues copies, and
// waits for the device only when both staging places are in use. Source: vLLM #42509, #50613,
// #58886; spec vllm_metadata.md 2. Fails: batches beyond the limits, and whatever chunk rule or
// planner refuses.
#pragma once

#include <string>
#include <vector>

#include "core/engine/device/ledger.hpp"
#include "core/engine/device/memory.hpp"
#include "core/engine/device/stream.hpp"
#include "core/engine/device/workspace.hpp"
#include "core/engine/prefill/prefill_metadata.hpp"
#include "core/engine/prefill/scratch.hpp"
#include "core/engine/prefill/staging.hpp"
#include "core/plan/ps_prefill.hpp"

namespace mla::prefill {

struct Device {
  device::DeviceHeap& heap;
  device::TransferLedger& ledger;
  device::Stream& stream;
};

// Device memory of an engine's prefill, and where its plans are staged.
struct PrefillBuffers {
  PlanBuffers plan;
  device::DeviceBuffer<std::int32_t> identity;
  PlanStaging staging;
};
Result<PrefillBuffers> make_prefill_buffers(const EngineConfig& config, const Device& device);

// The lists that a plan is made for.
struct PlannedLists {
  std::vector<std::int32_t> qo_indptr;     // [requests + 1] rows
  std::vector<std::int32_t> kv_indptr;     // [requests + 1] tokens
  std::vector<std::int32_t> context_lens;  // [requests] tokens; the planner's name for all keys
  bool causal = true;
};
// Keys are the new tokens only: as many as rows.
PlannedLists new_token_lists(const std::vector<std::int32_t>& query_start_loc);
PlannedLists chunk_lists(const ContextChunk& chunk);

// The spans refer to `lists`.
plan::PsInput plan_input_of(const PlannedLists& lists, const EngineConfig& config);

Result<PlanFields> stage_plan(const HostPlan& plan, PrefillBuffers& buffers, const Device& device);

// The plan for these lists, in buffers of these sizes.
Result<plan::Plan> plan_prefill(const PlannedLists& lists, const EngineConfig& config,
                                const plan::BufferSizes& sizes, const Hooks& hooks);

Result<PrefillMetadata> build_prefill(const Batch& batch, const PrefillShape& shape,
                                      const EngineConfig& config, PrefillBuffers& buffers,
                                      const Device& device, const Hooks& hooks);

}  // namespace mla::prefill

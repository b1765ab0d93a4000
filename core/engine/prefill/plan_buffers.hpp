// Plan buffers of a prefill: device memory that lives as long as the engine, and the fields that a
// forward pass is given.
//
// The ten fields exist together or not at all, so they are one value. The plan comes from a host
// planner; it reaches the device by copies that the stream orders, from memory that stays as it is
// until they have run. Source: vLLM #42509, #58886; spec vllm_metadata.md 2.1, 2.3. Units: int32
// elements, rows, tokens. Fails: a plan that is larger than its buffers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/device/memory.hpp"
#include "core/engine/device/stream.hpp"
#include "core/plan/plan.hpp"
#include "core/result.hpp"

namespace mla::prefill {

using Words = device::DeviceView<std::int32_t>;

// The fp8_prefill_* fields of an engine's metadata.
struct PlanFields : plan::PlanLists<Words> {
  Words qo_indptr;             // [requests + 1] rows
  Words kv_indptr;             // [requests + 1] tokens; of new tokens: the same tensor as qo_indptr
  Words kv_indices;            // [tokens] 0, 1, 2, ...: keys lie in the order of the requests
  std::int64_t max_q_len = 0;  // rows of the longest request
  std::int64_t num_partial_tiles = 0;  // partial results, kTileRows rows each
};

// A plan and its lists in host memory.
struct HostPlan : plan::PlanLists<std::vector<std::int32_t>> {
  std::vector<std::int32_t> qo_indptr;
  std::vector<std::int32_t> kv_indptr;  // empty: the same as qo_indptr
  std::int64_t tokens = 0;              // keys
  std::int64_t max_q_len = 0;
  std::int64_t num_partial_tiles = 0;
};

HostPlan host_plan(std::vector<std::int32_t> qo_indptr, std::vector<std::int32_t> kv_indptr,
                   const plan::Plan& plan);

// Device memory for plans of some capacity.
struct PlanBuffers : plan::PlanLists<device::DeviceBuffer<std::int32_t>> {
  PlanBuffers() = default;
  PlanBuffers(device::DeviceHeap& heap, const std::string& name, const plan::BufferSizes& sizes,
              std::int64_t requests);
  device::DeviceBuffer<std::int32_t> qo_indptr, kv_indptr;
};

// 0, 1, 2, ... on the device, as long as the longest list of keys.
device::DeviceBuffer<std::int32_t> make_identity(device::DeviceHeap& heap, device::Stream& stream,
                                                 std::int64_t tokens);

// Queues the copies of a plan and returns the fields that they fill. `plan` stays as it is until
// they have run.
Result<PlanFields> copy_plan(const HostPlan& plan, const PlanBuffers& buffers, Words identity,
                             device::Stream& stream);

}  // namespace mla::prefill

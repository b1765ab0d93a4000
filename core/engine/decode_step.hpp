// DecodeStepBuilder: one decode step the way an engine builds it, on the modelled device.
//
// The host knows the query lengths and upper bounds; lengths and block table are on the device
// only, so everything that needs them is a kernel queued on the stream. A build makes no
// device-to-host copy and waits for nothing (P21). All buffers are provisioned once, keep their
// addresses, and are filled anew by every step; what an earlier step left after the live parts
// stays there, as it does on a device. Source: vllm_metadata.md 1.2, 1.4 (G3). Units as named.
// Fails: a step beyond the provisioned maxima, or a shape that resolve_shape() refuses. What only
// the device can see (a request with fewer keys than rows) is found when the kernels run: see
// StepReport.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/engine/decode_builder.hpp"
#include "core/engine/device/stream.hpp"

namespace mla::engine {

// What a runner hands over for one step.
struct CommonStep {
  std::vector<std::int64_t> qo_lens;             // host; 0 for graph padding
  std::int64_t num_rows = 0;                     // host; rows with padding, at least the sum
  std::int64_t max_kv_len = 0;                   // host; upper bound of every length
  device::DeviceView<std::int32_t> seq_lens;     // [requests] tokens
  device::DeviceView<std::int32_t> block_table;  // [requests, columns] blocks
  std::int64_t columns = 0;
};

// The largest step that the buffers are provisioned for.
struct StepLimits {
  std::int64_t max_requests = 1;
  std::int64_t max_qo_len = 1;  // rows of one request
  std::int64_t max_pages = 1;   // pages of all requests of the kernel
};

// Buffers with fixed addresses, allocated once.
struct StepBuffers : plan::PlanLists<device::DeviceBuffer<std::int32_t>> {
  device::DeviceBuffer<std::int32_t> qo_indptr, kv_indptr, kv_indices, last_page_len;
  plan::BufferSizes sizes;  // of the five plan buffers
};

// What the device found out while the kernels ran.
struct StepReport {
  MaybeError refused;  // the builder's or the planner's refusal, if any
};

// The metadata of a step as the host holds it: decisions and views, no contents.
struct StepMetadata : plan::PlanLists<device::DeviceView<std::int32_t>> {
  ResolvedShape shape;
  std::int64_t requests = 0;  // that the kernel sees
  device::DeviceView<std::int32_t> qo_indptr, kv_indptr, kv_indices, last_page_len;
  std::shared_ptr<StepReport> report;

  // What a kernel sees that is given these views. Only meaningful while one runs.
  [[nodiscard]] Result<DecodeMetadata> on(const device::DeviceAccess& access) const;
  // Whether a launch captured with `other` may be replayed for this step: same decisions, same
  // launch shape, same addresses.
  [[nodiscard]] bool same_launch(const StepMetadata& other) const;
};

class DecodeStepBuilder {
 public:
  // `settings` holds everything that does not change from step to step; its requests are not read.
  // `hooks` outlives the builder, as does `planner`, which plans in place of the core unless it is
  // null.
  DecodeStepBuilder(Case settings, const StepLimits& limits, const DecodeHooks& hooks,
                    const plan::StepPlanner* planner = nullptr)
      : settings_(std::move(settings)), limits_(limits), hooks_(hooks), planner_(planner) {}

  // Sizes of the plan buffers that suffice for every query length up to the limit.
  [[nodiscard]] Result<plan::BufferSizes> provision() const;
  [[nodiscard]] Result<StepBuffers> allocate(device::DeviceHeap& heap) const;
  // Queues the kernels of one step. `for_graph`: also fill the tail of kv_indices with -1.
  Result<StepMetadata> build(const CommonStep& step, const StepBuffers& buffers,
                             device::Stream& stream, bool for_graph) const;

 private:
  Case settings_;
  StepLimits limits_;
  const DecodeHooks& hooks_;
  const plan::StepPlanner* planner_;
};

}  // namespace mla::engine

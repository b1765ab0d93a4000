// DecodeHooks: what may look at, and change, the values between the stages of a decode step, and
// between the steps of a sequence. See core/engine/step_hooks.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/engine/device/memory.hpp"

namespace mla {

struct Batch;
struct Case;
struct DecodeBuffers;
struct DecodeMetadata;
struct DecodeResult;
struct ExecutionOptions;
struct ResolvedShape;

namespace plan {
class Plan;
struct PlanInput;
struct SizeQuery;
}  // namespace plan

namespace device {
class Stream;
class TransferLedger;
}  // namespace device

namespace engine {
struct CommonStep;
struct StepBuffers;
}  // namespace engine

class DecodeHooks {
 public:
  DecodeHooks() = default;
  DecodeHooks(const DecodeHooks&) = delete;
  DecodeHooks& operator=(const DecodeHooks&) = delete;
  virtual ~DecodeHooks() = default;

  // resolve_shape(), DecodeMetadataBuilder, run_decode().
  virtual void on_shape(const Case&, const Batch&, ResolvedShape&) const {}
  virtual void on_buffers(DecodeBuffers&) const {}  // before a build writes them
  // After the index lists; the buffers back the spans of the metadata.
  virtual void on_index_lists(const Batch&, DecodeMetadata&, DecodeBuffers&) const {}
  virtual void on_plan_query(const DecodeMetadata&, plan::PlanInput&, plan::SizeQuery&) const {}
  virtual void on_plan(const DecodeMetadata&, plan::Plan&) const {}
  virtual void on_result(const ExecutionOptions&, const DecodeMetadata&, DecodeResult&) const {}

  // Between the steps of a sequence: upload(), DecodeStepBuilder, and the engine's driver.
  // Queues the copy of a list; `staging` is the driver's, one for each list, and outlives the step.
  virtual void upload(const char* name, std::span<const std::int32_t> source,
                      std::vector<std::int32_t>& staging, device::DeviceView<std::int32_t> target,
                      device::Stream& stream, device::TransferLedger& ledger) const;
  virtual void on_step(const engine::CommonStep&, device::Stream&) const {}  // while it is built
  virtual void on_replay(engine::StepBuffers&) const {}  // before a captured launch is replayed
  // Whether later steps get buffers of their own, and whether all groups have those of the first.
  [[nodiscard]] virtual bool allocates_each_step() const { return false; }
  [[nodiscard]] virtual bool groups_share_buffers() const { return false; }
};

}  // namespace mla

// StepHooks: what may look at, and change, the values between the stages of a step.
//
// The compositions that ship (MetadataBuilder::build, queue_forward, run_decode, ...) take hooks
// and call each one at its place; none() changes nothing. A known defect is planted as a hook
// (properties/plants), so that no line of it is in the product. Hooks keep no state between steps,
// and several threads may use one. Each comment names the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/engine/device/memory.hpp"
#include "core/result.hpp"

namespace mla {

struct Batch;
struct Case;
struct DecodeBuffers;
struct DecodeMetadata;
struct DecodeResult;
struct ExecutionOptions;
struct ResolvedShape;
struct ThreeWaySplit;

namespace plan {
class Plan;
struct PlanInput;
struct PsInput;
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

namespace prefill {
struct Capability;
struct Device;
struct EngineConfig;
struct HostPlan;
struct Kernels;
struct Model;
struct PlanFields;
struct PrefillBuffers;
struct PrefillShape;
enum class ChunkRule : std::uint8_t;
// Brings a plan to the device.
using StagePlan = Result<PlanFields> (*)(const HostPlan&, PrefillBuffers&, const Device&);
}  // namespace prefill

namespace fa {
struct DecodeCall;
struct Layer;
struct Metadata;
struct OrderedBatch;
struct StepInput;
struct StepParts;
}  // namespace fa

class StepHooks {
 public:
  StepHooks() = default;
  StepHooks(const StepHooks&) = delete;
  StepHooks& operator=(const StepHooks&) = delete;
  virtual ~StepHooks() = default;
  static const StepHooks& none();

  // Decode: resolve_shape(), DecodeMetadataBuilder, run_decode().
  virtual void on_shape(const Case&, const Batch&, ResolvedShape&) const {}
  virtual void on_buffers(DecodeBuffers&) const {}  // before a build writes them
  // After the index lists; the buffers back the spans of the metadata.
  virtual void on_index_lists(const Batch&, DecodeMetadata&, DecodeBuffers&) const {}
  virtual void on_plan_query(const DecodeMetadata&, plan::PlanInput&, plan::SizeQuery&) const {}
  virtual void on_plan(const DecodeMetadata&, plan::Plan&) const {}
  virtual void on_result(const ExecutionOptions&, const DecodeMetadata&, DecodeResult&) const {}

  // Decode, between the steps of a sequence: upload(), DecodeStepBuilder, and the engine's driver.
  // Queues the copy of a list; `staging` is the driver's, one for each list, and outlives the step.
  virtual void upload(const char* name, std::span<const std::int32_t> source,
                      std::vector<std::int32_t>& staging, device::DeviceView<std::int32_t> target,
                      device::Stream& stream, device::TransferLedger& ledger) const;
  virtual void on_step(const engine::CommonStep&, device::Stream&) const {}  // while it is built
  virtual void on_replay(engine::StepBuffers&) const {}  // before a captured launch is replayed
  // Whether later steps get buffers of their own, and whether all groups have those of the first.
  [[nodiscard]] virtual bool allocates_each_step() const { return false; }
  [[nodiscard]] virtual bool groups_share_buffers() const { return false; }

  // Prefill: capability_of(Case), resolve_prefill_shape(), reserve_scratch(), build_prefill().
  virtual void on_model(prefill::Model&) const {}
  virtual void on_capability(const prefill::Model&, prefill::Capability&) const {}
  virtual void on_prefill_shape(prefill::PrefillShape&) const {}
  virtual void on_reserve(prefill::EngineConfig&) const {}
  virtual void on_chunk_rule(prefill::ChunkRule&) const {}
  virtual void on_prefill_plan(plan::PsInput&) const {}
  virtual void on_staging(prefill::StagePlan&) const {}
  virtual void on_kernels(prefill::Kernels&) const {}  // of the backend, before the first launch

  // FA: the engine's driver, fa::MetadataBuilder, cpu::queue_forward().
  virtual void on_fa_order(fa::OrderedBatch&) const {}
  virtual void on_fa_input(fa::StepInput&, device::Stream&) const {}
  virtual void on_fa_build(const fa::StepInput&, device::Stream&) const {}  // while the host builds
  virtual void on_fa_split(const fa::StepInput&, ThreeWaySplit&) const {}
  virtual void on_fa_parts(fa::StepParts&) const {}
  virtual void on_fa_metadata(fa::Metadata&) const {}
  virtual void on_fa_decode_call(const fa::Layer&, fa::DecodeCall&) const {}
};

}  // namespace mla

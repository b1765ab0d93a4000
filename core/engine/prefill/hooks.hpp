// prefill::Hooks: what may look at, and change, the values between the stages of a prefill step.
// See core/engine/step_hooks.hpp.
#pragma once

#include <cstdint>

#include "core/result.hpp"

namespace mla::plan {
struct PsInput;
}

namespace mla::prefill {

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

class Hooks {
 public:
  Hooks() = default;
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;
  virtual ~Hooks() = default;

  // capability_of(Case), resolve_prefill_shape(), reserve_scratch(), build_prefill().
  virtual void on_model(Model&) const {}
  virtual void on_capability(const Model&, Capability&) const {}
  virtual void on_prefill_shape(PrefillShape&) const {}
  virtual void on_reserve(EngineConfig&) const {}
  virtual void on_chunk_rule(ChunkRule&) const {}
  virtual void on_prefill_plan(plan::PsInput&) const {}
  virtual void on_staging(StagePlan&) const {}
  virtual void on_kernels(Kernels&) const {}  // of the backend, before the first launch
};

}  // namespace mla::prefill

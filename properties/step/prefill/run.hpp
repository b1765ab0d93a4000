// Run: prefill steps, built and executed on one modelled engine.
//
// The engine declares limits, reserves its scratch and locks the workspace before the first step.
// Up to `ahead` further steps are queued before the device runs the first of them. A look at the
// plan is queued with every step: it copies what the kernels of that step are about to read.
// Fails: with the refusal of the engine or of the first step that is refused.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/prefill/kernels.hpp"
#include "core/engine/prefill/prefill_builder.hpp"
#include "properties/step/subject.hpp"
#include "properties/step/verdict.hpp"

namespace mla::prop {

// The fields of a plan in host memory.
struct SeenPlan {
  std::vector<std::int32_t> qo_indptr, kv_indptr, kv_indices, work_indptr, work_info, reduce_indptr,
      reduce_final_map, reduce_partial_map;
  std::int64_t num_partial_tiles = 0;
  bool operator==(const SeenPlan&) const = default;
};

struct PrefillStep {
  Case spec;  // this step alone
  Batch batch;
  prefill::PrefillShape shape;
  prefill::EngineConfig config;
  prefill::PrefillMetadata metadata;
  prefill::PrefillTensors tensors;
  prefill::PrefillResult result;
  SeenPlan plan;                        // of the new tokens; empty on path flash
  std::vector<SeenPlan> context_plans;  // path fp8_context
};

struct PrefillRun {
  std::unique_ptr<device::DeviceHeap> heap;  // outlives the steps, which own memory of it
  std::vector<std::unique_ptr<PrefillStep>> steps;
  std::vector<std::string> faults;  // of the device heap
  std::size_t waits = 0;            // times that the host waited while it built and queued
};

struct PrefillOptions {
  std::size_t ahead = 0;
  int threads = 1;
  // The chunk rule instead of the one that the shape takes.
  std::optional<prefill::ChunkRule> rule = {};
  // Changes the tensors of every step.
  std::function<void(prefill::PrefillTensors&)> change = {};
};

// The kernels of the subject's backend as its hooks leave them; empty without a prefill step.
prefill::Kernels kernels_of(const Subject& subject);

// Limits that hold all steps, and what an engine with them is configured as.
prefill::Limits limits_of(const std::vector<Case>& steps);
prefill::EngineConfig config_of(const Case& c, const prefill::Limits& limits,
                                const StepHooks& hooks = StepHooks::none());

// Why an engine of the subject cannot build the step; nothing is executed.
Status why_not_built(const Case& c, const Subject& subject);

// With the subject's hooks, on its backend, noted in its log.
Result<PrefillRun> run_prefill(const std::vector<Case>& steps, const Subject& subject,
                               const PrefillOptions& options);

// The reference of a step: its arithmetic is that which the case's cache asks for, whatever the
// step made of it. The bound allows for the merges of the step's chunks.
cpu::ReferenceResult prefill_reference_of(const PrefillStep& step);

// Against the reference; blames the works of the plan.
Outcome compare_prefill(const PrefillStep& step, const cpu::ReferenceResult& reference);

// The subject's own step, which prefill() has.
Outcome compare_prefill(Subject& subject);

// The first difference in the bits of out or LSE; nothing if the results are equal.
std::optional<std::string> prefill_difference(const PrefillStep& a, const PrefillStep& b);

}  // namespace mla::prop

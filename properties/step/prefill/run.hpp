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
#include "cpu_backend/decode/reference.hpp"
#include "properties/step/context.hpp"
#include "properties/step/prefill/config.hpp"
#include "properties/step/prefill/step.hpp"

namespace mla::prop {

struct PrefillRun {
  std::unique_ptr<device::DeviceHeap> heap;  // outlives the steps, which own memory of it
  std::vector<std::unique_ptr<PrefillStep>> steps;
  std::vector<std::string> faults;  // of the device heap
  std::size_t waits = 0;            // times that the host waited while it built and queued
};

struct PrefillOptions {
  std::size_t ahead = 0;
  int threads = 1;
  std::uint64_t timing_seed = 0;  // as in ExecutionOptions
  // The chunk rule instead of the one that the shape takes.
  std::optional<prefill::ChunkRule> rule = {};
  // Changes the tensors of every step.
  std::function<void(prefill::PrefillTensors&)> change = {};
};

// The backend's kernels as the hooks leave them; empty without a prefill step.
prefill::Kernels kernels_of(const StepContext& context);

// Why an engine with this planner, null for the core, cannot build the step; nothing is executed.
MaybeError why_not_built(const Case& c, const prefill::Hooks& hooks,
                         const plan::StepPlanner* planner);

Result<PrefillRun> run_prefill(const std::vector<Case>& steps, const StepContext& context,
                               const PrefillOptions& options);

// Chunks of each request's context: a part of its rows is merged that often, at most.
std::vector<std::int64_t> context_merges(const PrefillStep& step);

// The reference of a step: its arithmetic is that which the case's cache asks for, whatever the
// step made of it. The bound allows for the merges of the step's chunks.
cpu::ReferenceResult reference_of(const PrefillStep& step);

}  // namespace mla::prop

// Sequence: the steps of a case, built and executed on one modelled device as an engine would.
//
// Step i of the case uses the buffers that all steps before it used. Under `graph`, the attention
// of the first step is captured and replayed for every later step with the same launch shape.
// `ahead` steps are queued before the device runs the first of them. Fails: what a builder refuses
// is the result of that step; nothing else stops a sequence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/case/case.hpp"
#include "core/engine/backend.hpp"
#include "core/engine/decode_step.hpp"
#include "properties/generate/cost.hpp"
#include "properties/generate/tensor_store.hpp"

namespace mla::prop {

struct SequenceOptions {
  bool graph = false;
  std::size_t ahead = 0;        // steps queued before the device starts
  std::int64_t max_kv_len = 0;  // the engine's bound on KV lengths; at least the longest is taken
  TensorStore* tensors = nullptr;  // shared with other runs; null: of this run alone
  ExecutionLimits limits = {};     // of each step
};

struct StepRun {
  Case spec;  // this step alone, padded as it ran
  Result<DecodeResult> result = Error{ErrorCode::fault, "the step did not run"};
  bool replayed = false;
};

struct SequenceRun {
  std::vector<StepRun> steps;
  std::vector<std::string> build_waits;  // what made the host wait while it built
  std::vector<std::string> faults;       // of the device heap
};

// The steps that a case stands for: its own, or, for a case of one step, a longer one before it and
// a shorter one after it.
std::vector<Case> steps_of(const Case& c);

Result<SequenceRun> run_sequence(const std::vector<Case>& steps, const Backend& backend,
                                 const SequenceOptions& options, const DecodeHooks& hooks);

// Several cache groups (target and draft) that take turns on one device and one stream: step i of
// each group, then step i + 1. All groups have the same number of steps.
Result<std::vector<SequenceRun>> run_groups(const std::vector<std::vector<Case>>& groups,
                                            const Backend& backend, const SequenceOptions& options,
                                            const DecodeHooks& hooks);

}  // namespace mla::prop

// PrefillStep: one prefill step as it was built and run, and the plans that its kernels read.
#pragma once

#include <cstdint>
#include <vector>

#include "core/case/batch.hpp"
#include "core/case/case.hpp"
#include "core/engine/prefill/prefill_launch.hpp"
#include "core/engine/prefill/prefill_metadata.hpp"
#include "core/engine/prefill/scratch.hpp"

namespace mla::prop {

// The fields of a plan in host memory.
struct SeenPlan : plan::PlanLists<std::vector<std::int32_t>> {
  std::vector<std::int32_t> qo_indptr, kv_indptr, kv_indices;
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

}  // namespace mla::prop

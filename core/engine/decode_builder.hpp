// The decode builder: from a batch and its resolved shape to the metadata of one step.
//
// The builder holds options and hooks only and is const while it builds; two threads may use one,
// each with its own DecodeBuffers. Its stages are public, so that a claim can look at the value
// between two of them. Source: vllm_metadata.md 1.4 (generation G3 without gluon), 1.5. Fails:
// capacity that does not suffice, a request with fewer keys than rows (P34), and whatever the
// planner refuses; nothing is written past a buffer.
#pragma once

#include <cstdint>

#include "core/case/batch.hpp"
#include "core/engine/decode_hooks.hpp"
#include "core/engine/decode_metadata.hpp"
#include "core/plan/plan_check.hpp"
#include "core/plan/planner.hpp"
#include "core/plan/sizes.hpp"
#include "core/plan/step_planner.hpp"
#include "core/result.hpp"

namespace mla {

struct DecodeBuilderOptions {
  // Requests that the plan buffers are sized for; at least those of the batch. 0: exactly those.
  std::int64_t max_requests = 0;
  // Fill the indices after the live part with -1 in every build, as a full-graph engine does.
  bool fill_tail = false;
  plan::Fidelity fidelity = plan::Fidelity::safe;
  // Plans in place of the core; outlives the builder. Null: the core plans.
  const plan::StepPlanner* planner = nullptr;
};

// Buffers that hold this case: capacity for its requests, its pages and its spare entries, the
// spare filled as the case says.
DecodeBuffers make_decode_buffers(const Case& c, const Batch& batch, const ResolvedShape& shape);

// What the planner is asked, and how large its buffers are. The spans refer to the metadata.
struct PlanQuestion {
  plan::PlanInput input;
  plan::SizeQuery query;
};

class DecodeMetadataBuilder {
 public:
  // `hooks` outlives the builder.
  explicit DecodeMetadataBuilder(const DecodeBuilderOptions& options, const DecodeHooks& hooks)
      : options_(options), hooks_(hooks) {}
  [[nodiscard]] Result<ResolvedShape> shape(const Case& c, const Batch& batch) const;
  // Index lists, lengths and keyless rows; no plan yet. The spans point into `buffers`.
  [[nodiscard]] Result<DecodeMetadata> lists(const Batch& batch, const ResolvedShape& shape,
                                             DecodeBuffers& buffers) const;
  [[nodiscard]] PlanQuestion question(const DecodeMetadata& metadata) const;
  // The lists and, on a route with a plan, the plan.
  [[nodiscard]] Result<DecodeMetadata> build(const Batch& batch, const ResolvedShape& shape,
                                             DecodeBuffers& buffers) const;

 private:
  DecodeBuilderOptions options_;
  const DecodeHooks& hooks_;
};

// The stages without hooks, for buffers that are no DecodeBuffers.
Result<DecodeMetadata> build_index_lists(const Batch& batch, const ResolvedShape& shape,
                                         const DecodeBuilderOptions& options, IndexSpans buffers);
// Requests that the kernel sees: those of the batch, or its rows on route persistent_rows.
std::int64_t kernel_request_count(const Batch& batch, const ResolvedShape& shape);
plan::PlanInput plan_input_of(const DecodeMetadata& metadata, const DecodeBuilderOptions& options);
plan::SizeQuery size_query_of(const DecodeMetadata& metadata, const DecodeBuilderOptions& options);
// Safe fidelity takes out the works that have no key or no row, because a real
// kernel ends its workgroup at such a work and never runs the ones after it (aiter.md 6). Those
// with a planner ask that one, if it is not null.
Result<plan::Plan> plan_step(const plan::PlanInput& input, const plan::SizeQuery& query);
Result<plan::BufferSizes> plan_sizes(const plan::StepPlanner* planner, const plan::SizeQuery&);
Result<plan::Plan> plan_step(const plan::StepPlanner* planner, const plan::PlanInput& input,
                             const plan::BufferSizes& sizes);
Result<plan::Plan> plan_step(const plan::PlanInput& input, const plan::BufferSizes& sizes);
plan::Plan without_empty_works(plan::Plan plan);
// What plan_check() looks at in a step that has a plan, or gets this one. The spans refer to
// `metadata`.
plan::PlanCheckInput check_input_of(const DecodeMetadata& metadata);
plan::PlanCheckInput check_input_of(const DecodeMetadata& metadata, const plan::PlanView& plan);

}  // namespace mla

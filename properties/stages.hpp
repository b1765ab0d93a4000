// Stages: the steps from a batch to a result, with a defect planted between them if there is one.
//
// A Subject runs them for its case; a claim runs them on values of its own (another batch over the
// same cache, buffers that an earlier step has used). A null interposer plants nothing. Fails: with
// the error of the stage that failed.
#pragma once

#include "core/backend.hpp"
#include "core/builder/decode_builder.hpp"
#include "core/case/batch.hpp"
#include "core/case/case.hpp"
#include "core/result.hpp"
#include "properties/subject.hpp"

namespace mla::prop {

Result<ResolvedShape> resolve_stage(const Interposer* interposer, const Case& c,
                                    const Batch& batch);

// The index lists without a plan. The spans of the metadata point into `buffers`.
Result<DecodeMetadata> lists_stage(const Interposer* interposer, const Case& c, const Batch& batch,
                                   const ResolvedShape& shape, DecodeBuffers& buffers);

// The lists and the plan.
Result<DecodeMetadata> build_stage(const Interposer* interposer, const Case& c, const Batch& batch,
                                   const ResolvedShape& shape, DecodeBuffers& buffers);

// What the planner is asked for these index lists.
struct PlanQuestion {
  plan::PlanInput input;
  plan::SizeQuery query;
};
PlanQuestion plan_question(const Interposer* interposer, const DecodeMetadata& metadata);

Result<DecodeResult> run_stage(const Interposer* interposer, const Backend& backend,
                               const DecodeLaunch& launch, const ExecutionOptions& options);

// A step on values of its own, from shape to result.
struct Step {
  ResolvedShape shape;
  DecodeBuffers buffers;
  DecodeMetadata metadata;
  DecodeResult result;
};
// `c` describes the batch: its requests are the batch's.
Result<Step> run_step(const Subject& subject, const Case& c, const Batch& batch,
                      const DecodeTensors& tensors);

}  // namespace mla::prop

#include "properties/stages.hpp"

#include <utility>

#include "core/builder/leading_rows.hpp"

namespace mla::prop {
namespace {

DecodeBuilderOptions builder_options(const Interposer* interposer) {
  return {.fidelity = interposer != nullptr ? interposer->fidelity() : plan::Fidelity::safe};
}

}  // namespace

Result<ResolvedShape> resolve_stage(const Interposer* interposer, const Case& c,
                                    const Batch& batch) {
  Result<ResolvedShape> shape = resolve_shape(c, batch);
  if (interposer != nullptr && shape.ok()) interposer->on_shape(c, batch, *shape);
  return shape;
}

PlanQuestion plan_question(const Interposer* interposer, const DecodeMetadata& metadata) {
  const DecodeBuilderOptions options = builder_options(interposer);
  PlanQuestion question{plan_input_of(metadata, options), size_query_of(metadata, options)};
  if (interposer != nullptr) interposer->on_plan_query(metadata, question.input, question.query);
  return question;
}

Result<DecodeMetadata> lists_stage(const Interposer* interposer, const Case& c, const Batch& batch,
                                   const ResolvedShape& shape, DecodeBuffers& buffers) {
  if (interposer != nullptr) interposer->on_buffers(c, buffers);
  Result<DecodeMetadata> metadata =
      build_index_lists(batch, shape, builder_options(interposer), buffers);
  if (interposer != nullptr && metadata.ok())
    interposer->on_index_lists(c, batch, *metadata, buffers);
  return metadata;
}

Result<DecodeMetadata> build_stage(const Interposer* interposer, const Case& c, const Batch& batch,
                                   const ResolvedShape& shape, DecodeBuffers& buffers) {
  if (interposer == nullptr)
    return DecodeMetadataBuilder(builder_options(nullptr)).build(batch, shape, buffers);
  Result<DecodeMetadata> metadata = lists_stage(interposer, c, batch, shape, buffers);
  if (!metadata || metadata->shape.route == Route::split) return metadata;
  const PlanQuestion question = plan_question(interposer, *metadata);
  Result<plan::Plan> plan = plan_step(question.input, question.query);
  if (!plan) return plan.error();
  interposer->on_plan(*metadata, *plan);
  metadata->plan = std::move(*plan);
  return metadata;
}

Result<DecodeResult> run_stage(const Interposer* interposer, const Backend& backend,
                               const DecodeLaunch& launch, const ExecutionOptions& options) {
  const DecodeMetadata& md = launch.metadata;
  const bool raised = md.shape.leading_rows > 0;
  DecodeTensors padded;
  if (raised) {
    padded = launch.tensors;
    padded.q = with_leading_rows(md, launch.tensors.q);
  }
  Result<DecodeResult> result = backend.run({md, raised ? padded : launch.tensors}, options);
  if (interposer != nullptr && result.ok()) interposer->on_result(options, md, *result);
  if (raised && result.ok()) cut_leading_rows(md, *result);
  return result;
}

Result<Step> run_step(const Subject& subject, const Case& c, const Batch& batch,
                      const DecodeTensors& tensors) {
  Result<ResolvedShape> shape = resolve_stage(subject.interposer(), c, batch);
  if (!shape) return shape.error();
  DecodeBuffers buffers = make_decode_buffers(c, batch, *shape);
  Result<DecodeMetadata> metadata = build_stage(subject.interposer(), c, batch, *shape, buffers);
  if (!metadata) return metadata.error();
  Result<DecodeResult> result =
      run_stage(subject.interposer(), subject.backend(), {*metadata, tensors},
                {.schedule_seed = c.schedule_seed, .threads = 0, .record_footprint = true});
  if (!result) return result.error();
  return Step{std::move(*shape), std::move(buffers), std::move(*metadata), std::move(*result)};
}

}  // namespace mla::prop

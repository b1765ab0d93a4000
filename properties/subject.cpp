#include "properties/subject.hpp"

#include <optional>
#include <utility>

#include "properties/generate/tensors.hpp"

namespace mla::prop {
namespace {

// A build with a defect planted between its steps; without one this is what build() does.
Result<DecodeMetadata> build_with(const Interposer& interposer, const Case& c, const Batch& batch,
                                  const ResolvedShape& shape, DecodeBuffers& buffers) {
  const DecodeBuilderOptions options{.fidelity = interposer.fidelity()};
  interposer.on_buffers(c, buffers);
  Result<DecodeMetadata> metadata = build_index_lists(batch, shape, options, buffers);
  if (!metadata) return metadata;
  interposer.on_index_lists(c, batch, *metadata, buffers);
  if (metadata->shape.route == Route::split) return metadata;
  plan::PlanInput input = plan_input_of(*metadata, options);
  plan::SizeQuery query = size_query_of(*metadata, options);
  interposer.on_plan_query(*metadata, input, query);
  Result<plan::Plan> plan = plan_step(input, query);
  if (!plan) return plan.error();
  interposer.on_plan(*metadata, *plan);
  metadata->plan = std::move(*plan);
  return metadata;
}

}  // namespace

struct Subject::State {
  Case spec;
  const Backend* backend = nullptr;
  const Interposer* interposer = nullptr;

  std::optional<Result<Batch>> true_batch;  // of the case as written
  std::optional<Result<Batch>> batch;
  std::optional<Result<ResolvedShape>> shape;
  DecodeBuffers buffers;  // the spans of `metadata` point in here
  std::optional<Result<DecodeMetadata>> metadata;
  std::optional<Result<DecodeTensors>> tensors;
  std::optional<Result<DecodeResult>> result;
  std::optional<Result<cpu::ReferenceResult>> reference;

  const Result<Batch>& written() {
    if (!true_batch) true_batch.emplace(make_batch(spec));
    return *true_batch;
  }
};

Subject::Subject(Case c, const Backend& backend, const Interposer* interposer)
    : state_(std::make_unique<State>()) {
  state_->spec = std::move(c);
  state_->backend = &backend;
  state_->interposer = interposer;
}

Subject::~Subject() = default;
Subject::Subject(Subject&&) noexcept = default;
Subject& Subject::operator=(Subject&&) noexcept = default;

const Case& Subject::spec() const {
  return state_->spec;
}
const Backend& Subject::backend() const {
  return *state_->backend;
}
const Interposer* Subject::interposer() const {
  return state_->interposer;
}

const Result<Batch>& Subject::batch() {
  State& s = *state_;
  if (s.batch) return *s.batch;
  s.batch.emplace(s.written());
  if (s.interposer != nullptr && s.batch->ok()) s.interposer->on_batch(s.spec, **s.batch);
  return *s.batch;
}

const Result<ResolvedShape>& Subject::shape() {
  State& s = *state_;
  if (s.shape) return *s.shape;
  const Result<Batch>& b = batch();
  if (!b) return s.shape.emplace(b.error());
  s.shape.emplace(resolve_shape(s.spec, *b));
  if (s.interposer != nullptr && s.shape->ok()) s.interposer->on_shape(s.spec, *b, **s.shape);
  return *s.shape;
}

const Result<DecodeMetadata>& Subject::metadata() {
  State& s = *state_;
  if (s.metadata) return *s.metadata;
  const Result<ResolvedShape>& sh = shape();
  if (!sh) return s.metadata.emplace(sh.error());
  const Batch& b = *batch();
  s.buffers = make_decode_buffers(s.spec, b, *sh);
  if (s.interposer != nullptr)
    return s.metadata.emplace(build_with(*s.interposer, s.spec, b, *sh, s.buffers));
  return s.metadata.emplace(DecodeMetadataBuilder(DecodeBuilderOptions{}).build(b, *sh, s.buffers));
}

const Result<DecodeTensors>& Subject::tensors() {
  State& s = *state_;
  if (s.tensors) return *s.tensors;
  // The cache holds what the case says, whatever the metadata makes of it.
  const Result<Batch>& b = s.written();
  if (!b) return s.tensors.emplace(b.error());
  s.tensors.emplace(make_tensors(s.spec, *b));
  if (s.interposer != nullptr) s.interposer->on_tensors(s.spec, **s.tensors);
  return *s.tensors;
}

const Result<DecodeResult>& Subject::result() {
  State& s = *state_;
  if (s.result) return *s.result;
  const Result<DecodeMetadata>& m = metadata();
  if (!m) return s.result.emplace(m.error());
  const Result<DecodeTensors>& t = tensors();
  if (!t) return s.result.emplace(t.error());
  const ExecutionOptions options{
      .schedule_seed = s.spec.schedule_seed, .threads = 0, .record_footprint = true};
  s.result.emplace(s.backend->run({*m, *t}, options));
  if (s.interposer != nullptr && s.result->ok()) s.interposer->on_result(*m, **s.result);
  return *s.result;
}

const Result<cpu::ReferenceResult>& Subject::reference() {
  State& s = *state_;
  if (s.reference) return *s.reference;
  const Result<Batch>& b = s.written();
  if (!b) return s.reference.emplace(b.error());
  const auto refer = [&](const DecodeTensors& tensors) {
    return cpu::dense_reference({.batch = *b,
                                 .tensors = tensors,
                                 .arch = s.spec.arch,
                                 .dtype = s.spec.dtype,
                                 .model_heads = s.spec.heads,
                                 .causal = s.spec.causal});
  };
  if (s.interposer == nullptr) return s.reference.emplace(refer(*tensors()));
  return s.reference.emplace(refer(make_tensors(s.spec, *b)));
}

Subject Subject::sibling(Case other) const {
  return {std::move(other), *state_->backend, state_->interposer};
}

}  // namespace mla::prop

#include "properties/subject.hpp"

#include <optional>
#include <utility>

#include "cpu_backend/sampled_reference.hpp"
#include "properties/fa/run.hpp"
#include "properties/generate/cost.hpp"
#include "properties/generate/sample.hpp"
#include "properties/generate/tensors.hpp"
#include "properties/prefill/run.hpp"
#include "properties/stages.hpp"

namespace mla::prop {

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
  std::optional<Result<std::vector<FaStepRun>>> fa;
  std::optional<Result<PrefillRun>> prefill;
  std::optional<cpu::ReferenceResult> prefill_reference;

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
  return s.shape.emplace(resolve_stage(s.interposer, s.spec, *b));
}

const Result<DecodeMetadata>& Subject::metadata() {
  State& s = *state_;
  if (s.metadata) return *s.metadata;
  const Result<ResolvedShape>& sh = shape();
  if (!sh) return s.metadata.emplace(sh.error());
  const Batch& b = *batch();
  s.buffers = make_decode_buffers(s.spec, b, *sh);
  return s.metadata.emplace(build_stage(s.interposer, s.spec, b, *sh, s.buffers));
}

const Result<DecodeTensors>& Subject::tensors() {
  State& s = *state_;
  if (s.tensors) return *s.tensors;
  // The cache holds what the case says, whatever the metadata makes of it.
  const Result<Batch>& b = s.written();
  if (!b) return s.tensors.emplace(b.error());
  if (const Status too_much = why_not_executed(s.spec)) return s.tensors.emplace(*too_much);
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
  return s.result.emplace(run_stage(s.interposer, *s.backend, {*m, *t}, options));
}

const Result<cpu::ReferenceResult>& Subject::reference() {
  State& s = *state_;
  if (s.reference) return *s.reference;
  const Result<Batch>& b = s.written();
  if (!b) return s.reference.emplace(b.error());
  if (const Status too_much = why_not_executed(s.spec)) return s.reference.emplace(*too_much);
  const std::vector<std::int64_t> pairs = sampled_pairs(s.spec, b->requests);
  const auto refer = [&](const DecodeTensors& tensors) {
    return cpu::sampled_reference({.batch = *b,
                                   .tensors = tensors,
                                   .arch = s.spec.arch,
                                   .dtype = s.spec.dtype,
                                   .model_heads = s.spec.heads,
                                   .causal = s.spec.causal},
                                  pairs);
  };
  if (s.interposer == nullptr) return s.reference.emplace(refer(*tensors()));
  return s.reference.emplace(refer(make_tensors(s.spec, *b)));
}

const Result<PrefillRun>& Subject::prefill() {
  State& s = *state_;
  if (s.prefill) return *s.prefill;
  Case first = s.spec;
  first.later_steps.clear();
  return s.prefill.emplace(run_prefill({std::move(first)}, parts_of(*this), {}));
}

const cpu::ReferenceResult& Subject::prefill_reference() {
  State& s = *state_;
  if (s.prefill_reference) return *s.prefill_reference;
  return s.prefill_reference.emplace(prefill_reference_of(*prefill()->steps.front()));
}

const Result<std::vector<FaStepRun>>& Subject::fa() {
  State& s = *state_;
  if (!s.fa) s.fa.emplace(run_fa(fa_steps(s.spec), fa_defect_of(*this), 1));
  return *s.fa;
}

Subject Subject::sibling(Case other) const {
  return {std::move(other), *state_->backend, state_->interposer};
}

}  // namespace mla::prop

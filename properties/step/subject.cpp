#include "properties/step/subject.hpp"

#include <optional>
#include <utility>

#include "core/case/steps.hpp"
#include "core/engine/run_decode.hpp"
#include "cpu_backend/decode/reference.hpp"
#include "properties/generate/sample.hpp"
#include "properties/generate/tensor_store.hpp"
#include "properties/generate/tensors.hpp"
#include "properties/step/fa/run.hpp"
#include "properties/step/forwarding_backend.hpp"
#include "properties/step/prefill/run.hpp"

namespace mla::prop {

// The backend of a subject. What a result says that was launched goes to the log.
class LoggedBackend final : public ForwardingBackend {
 public:
  LoggedBackend(const Backend& backend, ExecutionLog& log)
      : ForwardingBackend(backend), log_(log) {}
  [[nodiscard]] Result<DecodeResult> run(const DecodeLaunch& launch,
                                         const ExecutionOptions& options) const override {
    Result<DecodeResult> result = inner().run(launch, options);
    if (result)
      log_.note(result->launches);
    else
      log_.note(result.error());
    return result;
  }

 private:
  ExecutionLog& log_;
};

struct Subject::State {
  // What a subject shares with its siblings.
  struct Shared {
    ExecutionLimits limits;
    ExecutionLog log;
    TensorStore step_tensors;
  };
  State(Case c, const Backend& on, const Interposer& hooks, std::shared_ptr<Shared> with_siblings,
        bool sibling)
      : spec(std::move(c)),
        shared(std::move(with_siblings)),
        is_sibling(sibling),
        backend(on, shared->log),
        context{backend, hooks, shared->log, shared->limits, shared->step_tensors} {}

  Case spec;
  std::shared_ptr<Shared> shared;
  bool is_sibling = false;  // a sibling's step belongs to the property that made it
  LoggedBackend backend;
  StepContext context;

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

  // The step of the case, executed once.
  template <class T, class Execute>
  const Result<T>& step(std::optional<Result<T>>& kept, Execute execute) {
    if (!kept) {
      if (!is_sibling) shared->log.begin_shared();
      kept.emplace(execute());
      shared->log.end_shared();
    }
    if (!is_sibling) shared->log.use_shared(kept->ok() ? MaybeError() : MaybeError(kept->error()));
    return *kept;
  }
};

Subject::Subject(Case c, const Backend& backend, const Interposer* interposer,
                 const ExecutionLimits& limits)
    : Subject(std::make_unique<State>(std::move(c), backend,
                                      interposer != nullptr ? *interposer : Interposer::none(),
                                      std::make_shared<State::Shared>(limits), false)) {}
Subject::Subject(std::unique_ptr<State> state) : state_(std::move(state)) {}

Subject::~Subject() = default;
Subject::Subject(Subject&&) noexcept = default;
Subject& Subject::operator=(Subject&&) noexcept = default;

const Case& Subject::spec() const& {
  return state_->spec;
}
const StepContext& Subject::context() const {
  return state_->context;
}
DecodeMetadataBuilder Subject::builder() const {
  return DecodeMetadataBuilder({.planner = backend().planner()}, hooks());
}

const Result<Batch>& Subject::batch() & {
  State& s = *state_;
  if (s.batch) return *s.batch;
  s.batch.emplace(s.written());
  if (s.batch->ok()) hooks().on_batch(s.spec, **s.batch);
  return *s.batch;
}

const Result<ResolvedShape>& Subject::shape() & {
  State& s = *state_;
  if (s.shape) return *s.shape;
  const Result<Batch>& b = batch();
  if (!b) return s.shape.emplace(b.error());
  return s.shape.emplace(builder().shape(s.spec, *b));
}

const Result<DecodeMetadata>& Subject::metadata() & {
  State& s = *state_;
  if (s.metadata) return *s.metadata;
  const Result<ResolvedShape>& sh = shape();
  if (sh) {
    const Batch& b = *batch();
    s.buffers = make_decode_buffers(s.spec, b, *sh);
    s.metadata.emplace(builder().build(b, *sh, s.buffers));
  } else {
    s.metadata.emplace(sh.error());
  }
  // A sequence is refused as a whole.
  if (s.is_sibling || s.spec.later_steps.empty()) return *s.metadata;
  if (!s.metadata->ok()) return s.metadata.emplace(of_step(0, s.metadata->error()));
  const std::vector<Case> steps = single_steps(s.spec);
  for (std::size_t i = 1; i < steps.size(); ++i) {
    Subject later = sibling(steps[i]);
    if (!later.metadata()) return s.metadata.emplace(of_step(i, later.metadata().error()));
  }
  return *s.metadata;
}

const Result<DecodeTensors>& Subject::tensors() & {
  State& s = *state_;
  if (s.tensors) return *s.tensors;
  // The cache holds what the case says, whatever the metadata makes of it.
  const Result<Batch>& b = s.written();
  if (!b) return s.tensors.emplace(b.error());
  if (const MaybeError too_much = why_not_executed(s.spec, limits()))
    return s.tensors.emplace(*too_much);
  s.tensors.emplace(make_tensors(s.spec, *b));
  hooks().on_tensors(s.spec, **s.tensors);
  return *s.tensors;
}

const Result<DecodeResult>& Subject::result() & {
  State& s = *state_;
  return s.step(s.result, [&]() -> Result<DecodeResult> {
    const Result<DecodeMetadata>& m = metadata();
    if (!m) return m.error();
    const Result<DecodeTensors>& t = tensors();
    if (!t) return t.error();
    const ExecutionOptions options{
        .schedule_seed = s.spec.schedule_seed, .threads = 0, .record_stages = true};
    return run_decode(s.backend, {*m, *t}, options, hooks());
  });
}

const Result<cpu::ReferenceResult>& Subject::reference() & {
  State& s = *state_;
  if (s.reference) return *s.reference;
  const Result<Batch>& b = s.written();
  if (!b) return s.reference.emplace(b.error());
  if (const MaybeError too_much = why_not_executed(s.spec, limits()))
    return s.reference.emplace(*too_much);
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
  if (!planted()) return s.reference.emplace(refer(*tensors()));
  return s.reference.emplace(refer(make_tensors(s.spec, *b)));
}

const Result<PrefillRun>& Subject::prefill() & {
  State& s = *state_;
  return s.step(s.prefill, [&]() -> Result<PrefillRun> {
    const std::vector<Case> steps = single_steps(s.spec);
    for (std::size_t i = 0; i < steps.size() && steps.size() > 1; ++i)
      if (const MaybeError bad = why_not_built(steps[i], hooks(), backend().planner()))
        return of_step(i, *bad);
    return run_prefill({steps.front()}, s.context, {});
  });
}

const cpu::ReferenceResult& Subject::prefill_reference() & {
  State& s = *state_;
  if (s.prefill_reference) return *s.prefill_reference;
  return s.prefill_reference.emplace(reference_of(*prefill()->steps.front()));
}

const Result<std::vector<FaStepRun>>& Subject::fa() & {
  State& s = *state_;
  return s.step(s.fa, [&] { return run_fa(single_steps(s.spec), s.context, 1); });
}

MaybeError Subject::seen_refusal() const {
  const auto refusal = [](const auto& step) -> MaybeError {
    return step && !step->ok() && is_refusal(step->error()) ? MaybeError(step->error())
                                                            : std::nullopt;
  };
  if (const MaybeError decode = refusal(state_->result)) return decode;
  const MaybeError prefill = refusal(state_->prefill);
  return prefill ? prefill : refusal(state_->fa);
}

Subject Subject::sibling(Case other) const {
  return Subject(std::make_unique<State>(std::move(other), state_->backend.inner(), hooks(),
                                         state_->shared, true));
}

}  // namespace mla::prop

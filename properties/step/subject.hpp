// Subject: one case on its way through all stages, each computed once and on demand.
//
// Every property of a run looks at the same subject, so a case is planned, executed and referenced
// once. An Interposer changes a value between two stages: that is how known defects are planted
// (core/engine/step_hooks.hpp). Fails: a stage's error is kept and returned to everyone who
// asks for a later stage.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/case/batch.hpp"
#include "core/case/case.hpp"
#include "core/engine/backend.hpp"
#include "core/engine/decode_builder.hpp"
#include "core/result.hpp"
#include "cpu_backend/decode/reference.hpp"
#include "properties/generate/cost.hpp"
#include "properties/step/execution.hpp"

namespace mla::prop {

struct FaStepRun;  // properties/step/fa/run.hpp
struct PrefillRun;
class TensorStore;
struct Functions;  // the pure functions that claims look at, see properties/step/functions.hpp

// The hooks of a step, and what the judge adds around it; a planted defect overrides what it
// breaks, and everything else is the identity.
class Interposer : public StepHooks {
 public:
  static const Interposer& none();
  virtual void on_batch(const Case&, Batch&) const {}
  virtual void on_tensors(const Case&, DecodeTensors&) const {}
  virtual void on_functions(Functions&) const {}
};

class Subject {
 public:
  // `backend` and `interposer` outlive the subject; null plants nothing.
  Subject(Case c, const Backend& backend, const Interposer* interposer,
          const ExecutionLimits& limits = {});
  ~Subject();
  Subject(Subject&&) noexcept;
  Subject& operator=(Subject&&) noexcept;

  [[nodiscard]] const Case& spec() const&;
  const Case& spec() const&& = delete;
  // The backend; what it launches for whoever calls it is noted in the log.
  [[nodiscard]] const Backend& backend() const;
  // Shared with siblings.
  [[nodiscard]] ExecutionLog& log() const;
  // The largest step that is executed. The same for siblings.
  [[nodiscard]] const ExecutionLimits& limits() const;
  // Of the steps that run_sequence() executes. Shared with siblings.
  [[nodiscard]] TensorStore* step_tensors() const;
  [[nodiscard]] const Interposer& hooks() const;
  [[nodiscard]] bool planted() const { return &hooks() != &Interposer::none(); }
  [[nodiscard]] DecodeMetadataBuilder builder() const;  // with the hooks

  // What these return lies in the subject, so a temporary one has none of them.
  const Result<Batch>& batch() &;
  const Result<ResolvedShape>& shape() &;
  const Result<DecodeMetadata>& metadata() &;
  const Result<DecodeTensors>& tensors() &;
  const Result<DecodeResult>& result() &;  // with the case's schedule seed, footprint recorded
  const Result<cpu::ReferenceResult>& reference() &;  // of the case as written, without interposer

  // Kind prefill: the case's first step on an engine of its own, and its reference.
  const Result<PrefillRun>& prefill() &;
  const cpu::ReferenceResult& prefill_reference() &;  // only if prefill() is ok

  // Kind fa: all steps of the case on one device; see run_fa().
  const Result<std::vector<FaStepRun>>& fa() &;

  // Why the step of a prefill or FA case is not executed, if it was asked for and it is
  // refused.
  [[nodiscard]] Status seen_refusal() const;

  // A subject of another case with the same backend and interposer (for "same answer if ..."
  // claims).
  [[nodiscard]] Subject sibling(Case other) const;

 private:
  struct State;
  explicit Subject(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace mla::prop

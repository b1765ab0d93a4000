// Subject: one case on its way through all stages, each computed once and on demand.
//
// Every property of a run looks at the same subject, so a case is planned, executed and referenced
// once. Fails: a stage's error is kept and returned to everyone who asks for a later stage.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/case/batch.hpp"
#include "core/case/case.hpp"
#include "core/engine/decode_builder.hpp"
#include "core/result.hpp"
#include "cpu_backend/decode/reference.hpp"
#include "properties/step/context.hpp"

namespace mla::prop {

struct FaStepRun;  // properties/step/fa/run.hpp
struct PrefillRun;

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
  // Shared with siblings, as is what it refers to.
  [[nodiscard]] const StepContext& context() const;
  [[nodiscard]] const Backend& backend() const { return context().backend; }
  [[nodiscard]] ExecutionLog& log() const { return context().log; }
  [[nodiscard]] const ExecutionLimits& limits() const { return context().limits; }
  [[nodiscard]] const Interposer& hooks() const { return context().hooks; }
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

  // Why the step of the case is not executed, if it was asked for and it is refused.
  [[nodiscard]] MaybeError seen_refusal() const;

  // A subject of another case with the same backend and interposer (for "same answer if ..."
  // claims).
  [[nodiscard]] Subject sibling(Case other) const;

 private:
  struct State;
  explicit Subject(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace mla::prop

// Subject: one case on its way through all stages, each computed once and on demand.
//
// Every property of a run looks at the same subject, so a case is planned, executed and referenced
// once. An Interposer changes a value between two stages: that is how known defects are planted
// without a line of theirs in the core. Fails: a stage's error is kept and returned to everyone who
// asks for a later stage.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/backend.hpp"
#include "core/builder/decode_builder.hpp"
#include "core/case/batch.hpp"
#include "core/case/case.hpp"
#include "core/result.hpp"
#include "cpu_backend/reference.hpp"
#include "properties/execution.hpp"

namespace mla::prop {

enum class SequenceDefect : std::uint8_t;  // properties/engine/sequence.hpp
class FaDefect;                            // properties/fa/run.hpp
struct FaStepRun;                          // the same
struct PrefillParts;  // what a prefill step is made of, properties/prefill/parts.hpp
struct PrefillRun;
struct Functions;  // the pure functions that claims look at, see properties/functions.hpp

// The identity on every stage; a planted defect overrides what it breaks.
class Interposer {
 public:
  Interposer() = default;
  Interposer(const Interposer&) = delete;
  Interposer& operator=(const Interposer&) = delete;
  virtual ~Interposer() = default;
  virtual void on_batch(const Case&, Batch&) const {}
  virtual void on_shape(const Case&, const Batch&, ResolvedShape&) const {}
  virtual void on_buffers(const Case&, DecodeBuffers&) const {}  // before a build writes them
  // After the index lists; `buffers` backs the spans of `metadata`.
  virtual void on_index_lists(const Case&, const Batch&, DecodeMetadata&, DecodeBuffers&) const {}
  virtual void on_plan_query(const DecodeMetadata&, plan::PlanInput&, plan::SizeQuery&) const {}
  virtual void on_plan(const DecodeMetadata&, plan::Plan&) const {}
  virtual void on_tensors(const Case&, DecodeTensors&) const {}
  virtual void on_result(const ExecutionOptions&, const DecodeMetadata&, DecodeResult&) const {}
  virtual void on_functions(Functions&) const {}
  virtual void on_prefill(PrefillParts&) const {}
  // A defect of order or lifetime, which lives between the steps of a sequence; 0: none.
  [[nodiscard]] virtual SequenceDefect sequence_defect() const { return SequenceDefect{}; }
  // What is broken between the stages of an FA step; null: nothing.
  [[nodiscard]] virtual const FaDefect* fa_defect() const { return nullptr; }
  // Whether the works without keys are taken out of the plan (see plan_step).
  [[nodiscard]] virtual plan::Fidelity fidelity() const { return plan::Fidelity::safe; }
};

class Subject {
 public:
  // `backend` and `interposer` outlive the subject; a null interposer plants nothing.
  Subject(Case c, const Backend& backend, const Interposer* interposer);
  ~Subject();
  Subject(Subject&&) noexcept;
  Subject& operator=(Subject&&) noexcept;

  [[nodiscard]] const Case& spec() const;
  // The backend; what it launches for whoever calls it is noted in the log.
  [[nodiscard]] const Backend& backend() const;
  // Shared with siblings.
  [[nodiscard]] ExecutionLog& log() const;
  [[nodiscard]] const Interposer* interposer() const;

  const Result<Batch>& batch();
  const Result<ResolvedShape>& shape();
  const Result<DecodeMetadata>& metadata();
  const Result<DecodeTensors>& tensors();
  const Result<DecodeResult>& result();  // with the case's schedule seed, footprint recorded
  const Result<cpu::ReferenceResult>& reference();  // of the case as written, without interposer

  // Kind prefill: the case's first step on an engine of its own, and its reference.
  const Result<PrefillRun>& prefill();
  const cpu::ReferenceResult& prefill_reference();  // only if prefill() is ok

  // Kind fa: all steps of the case on one device; see run_fa().
  const Result<std::vector<FaStepRun>>& fa();

  // A subject of another case with the same backend and interposer (for "same answer if ..."
  // claims).
  [[nodiscard]] Subject sibling(Case other) const;

 private:
  struct State;
  explicit Subject(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace mla::prop

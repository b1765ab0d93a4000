// StepContext: what the steps of a case are executed with, of whatever kind they are.
//
// An Interposer changes a value between two stages: that is how known defects are planted
// (core/engine/step_hooks.hpp).
#pragma once

#include "core/engine/backend.hpp"
#include "core/engine/step_hooks.hpp"
#include "properties/generate/cost.hpp"
#include "properties/step/execution.hpp"

namespace mla::prop {

class TensorStore;
struct Functions;  // the pure functions that claims look at, see properties/step/functions.hpp

// The hooks of a step, and what the judge adds around it; a planted defect overrides what it
// breaks, and everything else is the identity.
class Interposer : public StepHooks {
 public:
  static const Interposer& none() {
    static const Interposer identity;
    return identity;
  }
  virtual void on_batch(const Case&, Batch&) const {}
  virtual void on_tensors(const Case&, DecodeTensors&) const {}
  virtual void on_functions(Functions&) const {}
};

struct StepContext {
  const Backend& backend;   // what it launches, for any caller, is noted in the log
  const Interposer& hooks;  // Interposer::none() plants nothing
  ExecutionLog& log;
  const ExecutionLimits& limits;  // the largest step that is executed
  TensorStore& tensors;           // of the steps that run_sequence() executes
};

}  // namespace mla::prop

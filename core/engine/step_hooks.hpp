// StepHooks: the hooks of all kinds of steps.
//
// The compositions that ship (MetadataBuilder::build, queue_forward, run_decode, ...) take the
// hooks of their kind and call each one at its place; none() leaves all as it is. A known defect is
// planted as a hook (properties/plants), so that no line of it is in the product. Hooks keep no
// state between steps, and several threads may use one. Comments of the hooks name the caller.
#pragma once

#include "core/engine/decode_hooks.hpp"
#include "core/engine/fa/hooks.hpp"
#include "core/engine/prefill/hooks.hpp"

namespace mla {

class StepHooks : public DecodeHooks, public prefill::Hooks, public fa::Hooks {
 public:
  static const StepHooks& none();
};

}  // namespace mla

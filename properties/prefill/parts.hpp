// PrefillParts: everything that a prefill step is made of and that a defect can stand in for.
//
// The defaults are the core's and the CPU backend's own. A backend brings its kernels, and
// Interposer::on_prefill() lets a plant replace any part. Fails: never.
#pragma once

#include "core/builder/prefill/prefill_builder.hpp"
#include "cpu_backend/prefill/forward.hpp"

namespace mla::prop {

struct PrefillParts {
  decltype(&prefill::capability_of) capability = &prefill::capability_of;
  decltype(&prefill::resolve_prefill_shape) resolve = &prefill::resolve_prefill_shape;
  decltype(&prefill::reserve_scratch) reserve = &prefill::reserve_scratch;
  prefill::BuildParts build;
  cpu::PrefillKernels kernels;
};

}  // namespace mla::prop

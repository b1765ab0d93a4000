// PrefillParts: everything that a prefill step is made of and that a defect can stand in for.
//
// The defaults are the core's own, the kernels are the backend's. Interposer::on_prefill() lets a
// plant replace any part. Fails: never.
#pragma once

#include "core/builder/prefill/kernels.hpp"
#include "core/builder/prefill/prefill_builder.hpp"
#include "properties/execution.hpp"

namespace mla::prop {

struct PrefillParts {
  decltype(&prefill::capability_of) capability = &prefill::capability_of;
  decltype(&prefill::resolve_prefill_shape) resolve = &prefill::resolve_prefill_shape;
  decltype(&prefill::reserve_scratch) reserve = &prefill::reserve_scratch;
  prefill::BuildParts build;
  prefill::Kernels kernels;     // none: the backend has no prefill step
  ExecutionLog* log = nullptr;  // where executed steps are noted
};

}  // namespace mla::prop

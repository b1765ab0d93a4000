// Prefill with a plan after its checks, on any backend.
//
// Private to properties/c_api. Fails: works that are wrong, what the device says; with
// mla_check_written(1) rows that were not written.
#pragma once

#include <optional>

#include "core/arch.hpp"
#include "cpu_backend/prefill/kernels.hpp"
#include "properties/c_api/backend.hpp"

namespace mla::c_api {

struct PrefillStep {
  Arch arch = Arch::gfx950;
  cpu::PsLaunch launch;  // without reduce maps
  cpu::PsOutput output;  // its LSE is not set: it is not asked for
  float v_scale = 1;
};

std::optional<Failure> run_prefill(BackendKind backend, const PrefillStep& step);

}  // namespace mla::c_api

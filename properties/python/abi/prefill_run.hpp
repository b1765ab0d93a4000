// Prefill with a plan after its checks, on any backend.
//
// Private to properties/python/abi. Fails: works that are wrong, what the device says; with
// mla_check_written(1) rows that were not written.
#pragma once

#include <optional>

#include "core/arch.hpp"
#include "cpu_backend/prefill/kernels.hpp"
#include "properties/python/abi/backend.hpp"

namespace mla::abi {

struct PrefillStep {
  Arch arch = Arch::gfx950;
  cpu::PsLaunch launch;  // without reduce maps
  cpu::PsOutput output;  // its LSE is not set: it is not asked for
  float v_scale = 1;
};

std::optional<Failure> run_prefill(BackendKind backend, const PrefillStep& step);

}  // namespace mla::abi

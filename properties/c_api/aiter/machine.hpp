// The machine that AITER's entry points stand on.
//
// Owns: what AITER's C++ would ask HIP and its loader, read from the environment at each call, and
// the installation of AITER that the environment names. Private to properties/c_api. Fails:
// MLA_USAGE names the variable, its value and what it takes.
#pragma once

#include <cstdint>
#include <memory>

#include "core/arch.hpp"
#include "core/result.hpp"
#include "hip_backend/aiter/installation.hpp"

namespace mla::c_api::aiter {

enum class Execution : std::uint8_t { emulator, code_objects };

struct Machine {
  Arch arch = Arch::gfx942;
  std::int64_t compute_units = 304;
  Execution execution = Execution::emulator;
  // Null unless AITER_HSA names one.
  std::shared_ptr<hip::aiter::Installation> installation;
};

Result<Machine> this_machine();
// The product of an architecture, whose kernels are AITER's code objects under AITER_HSA.
Result<Machine> code_object_machine(Arch arch);

}  // namespace mla::c_api::aiter

// Owns: operations that end, stop or order waves, each with a kernel that shows it.
#pragma once

#include <span>
#include <string>

#include "hip_backend/gfx_emulator/exec/handlers.hpp"
#include "hip_backend/gfx_emulator/isa/operations.hpp"

namespace gfx_test {

struct Control {
  const char* operation;
  const char* claim;
  bool (*holds)(mla::gfx::Arch, mla::gfx::HostPath);
};
[[nodiscard]] std::span<const Control> all_controls();

}  // namespace gfx_test

// Owns: from the bytes of a code object to one that can run.
//
// Accepts ELF64 AMDGPU code objects (version 4 to 6) for gfx942 and gfx950. A wrong machine, a
// damaged header, an unknown relocation and an unknown encoding inside a function are errors.
#pragma once

#include <cstddef>
#include <span>

#include "core/result.hpp"
#include "hip_backend/gfx_emulator/exec/host_path.hpp"
#include "hip_backend/gfx_emulator/object/code_object.hpp"

namespace mla::gfx {

struct LoadOptions {
  HostPath path = best_host_path();
  std::size_t image_limit = std::size_t{1} << 30;  // bytes of the loaded image
};

[[nodiscard]] Result<CodeObject> load_code_object(std::span<const std::byte> bytes,
                                                  const LoadOptions& options);

}  // namespace mla::gfx

// Owns: how much LDS a workgroup can have.
#pragma once

#include <cstdint>

#include "hip_backend/gfx_emulator/isa/traits.hpp"

namespace mla::gfx {

// Bytes.
constexpr std::uint32_t lds_limit(Arch arch) {
  return (arch == Arch::gfx950 ? 160U : 64U) * 1024;
}

}  // namespace mla::gfx

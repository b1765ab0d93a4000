// Which range of the launch an access was meant for, for messages.
#pragma once

#include <cstdint>

#include "hip_backend/gfx_emulator/exec/wave.hpp"

namespace mla::gfx {

// The range that an access was meant for: the one that the base of its address lies in (a buffer
// descriptor, a scalar base), and without a base the nearest one. Null: none is near.
[[nodiscard]] const Range* intended_range(const Wave& wave, const Inst& inst,
                                          std::uint64_t address);

}  // namespace mla::gfx

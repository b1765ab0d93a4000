// Owns: which lane a lane reads from under DPP, and which lanes are written.
#pragma once

#include <array>
#include <cstdint>

#include "hip_backend/gfx_emulator/isa/inst.hpp"

namespace mla::gfx {

// For each of the 64 lanes the lane it reads, -1: none. `ctrl` is DPP_CTRL, nine bits.
[[nodiscard]] const std::array<std::int8_t, 64>& dpp_sources(std::uint16_t ctrl);

// The lanes that are let through: row and bank masks, and sources that exist.
[[nodiscard]] std::uint64_t dpp_lanes(const Inst& inst);

// Every lane of a row of 16 reads the same lane of its row.
[[nodiscard]] constexpr bool is_row_broadcast(std::uint16_t ctrl) {
  return ctrl >> 4 == 0x15;
}

}  // namespace mla::gfx

// Owns: what a launch rested on, by the names of assumptions.hpp.
//
// Most assumptions belong to operations, whose executions are counted anyway. The others are
// counted where they are met, in the places of Group::executed after the operations.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "hip_backend/gfx_emulator/exec/options.hpp"
#include "hip_backend/gfx_emulator/exec/wave.hpp"
#include "hip_backend/gfx_emulator/isa/operations.hpp"

namespace mla::gfx {

enum class Met : std::uint8_t {
  flat_aperture,  // a flat access to LDS or scratch
  lds_dma,        // a load to LDS
  lds_dma_mask,   // the same, with lanes masked by M0
  dpp_inactive,   // DPP with lanes that EXEC switches off
  late_memory,    // an operation that took effect after its issue
  count
};

constexpr std::size_t first_met = Group::most_operations - static_cast<std::size_t>(Met::count);
inline void meet(const Wave& wave, Met what) {
  ++wave.group->executed[first_met + static_cast<std::size_t>(what)];
}

// In alphabetical order; what was not met is left out.
[[nodiscard]] std::vector<Assumed> assumed_in(
    const Operations& operations, std::span<const std::uint64_t, Group::most_operations> executed,
    MfmaMode mode);

}  // namespace mla::gfx

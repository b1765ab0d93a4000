// Owns: the only way to global memory. Every access is looked up in the ranges of the launch.
#pragma once

#include <cstdint>

#include "hip_backend/gfx_emulator/exec/wave.hpp"

namespace mla::gfx {

// An update reads and writes: atomics.
enum class Intent : std::uint8_t { read, write, update };

// Whether one registered range holds all of [address, address + size) with the rights asked for.
// Remembers the range; reports nothing.
[[nodiscard]] bool allowed(Wave& wave, std::uint64_t address, std::uint64_t size, Intent intent);

// The host memory behind an address, or null after reporting the fault.
[[nodiscard]] std::byte* access(Wave& wave, const Inst& inst, int lane, std::uint64_t address,
                                std::uint64_t size, Intent intent);

}  // namespace mla::gfx

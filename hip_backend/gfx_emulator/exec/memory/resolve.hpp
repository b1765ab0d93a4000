// Owns: the only way to global memory. Every access is looked up in the ranges of the launch.
#pragma once

#include <cstdint>

#include "hip_backend/gfx_emulator/exec/memory/watch.hpp"
#include "hip_backend/gfx_emulator/exec/wave.hpp"

namespace mla::gfx {

// Whether one registered range holds all of [address, address + size) with the rights asked for.
// Remembers the range; reports nothing.
[[nodiscard]] bool allowed(Wave& wave, std::uint64_t address, std::uint64_t size, Intent intent);

// The host memory at an address, or null after reporting the fault.
[[nodiscard]] std::byte* access(Wave& wave, const Inst& inst, int lane, std::uint64_t address,
                                std::uint64_t size, Intent intent);

// Lanes of a buffer access that the number of records drops although they are not masked: see
// Checks::dropped. `offset` is the row of their offsets.
void report_dropped(Wave& wave, const Inst& inst, const std::uint32_t* offset, std::uint64_t lanes,
                    std::uint32_t size, Intent intent);

// The fault of a buffer descriptor that asks for swizzled addresses, or for those of threads.
void report_order_of_buffer(Wave& wave, const Inst& inst);

}  // namespace mla::gfx

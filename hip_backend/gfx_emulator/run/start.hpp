// Owns: how a launch and its waves begin: kernel arguments with the hidden ones filled in, the
// dispatch packet, and the registers the kernel descriptor asks for.
#pragma once

#include "hip_backend/gfx_emulator/exec/launch_state.hpp"
#include "hip_backend/gfx_emulator/exec/wave.hpp"
#include "hip_backend/gfx_emulator/isa/effects.hpp"
#include "hip_backend/gfx_emulator/memory/memory.hpp"

namespace mla::gfx {

// Checks the request against the kernel and sets up `launch`.
[[nodiscard]] MaybeError start_launch(const CodeObject& object, const LaunchRequest& request,
                                      const Memory& memory, Launch& launch);

// Sets every register of a wave; `wave.number`, `wave.group` and the scratch are set already. Where
// the last workgroup ran little, as one without work does, only what it wrote is set: vector
// registers are 128 KiB.
void start_wave(Wave& wave, EffectsTable& effects);
// Whether the wave may have written LDS or scratch since it started.
[[nodiscard]] bool wrote_memory(const Wave& wave);

}  // namespace mla::gfx

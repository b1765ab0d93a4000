// Owns: memory of the device, and what may be copied to and from it. Private to hip_runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "hip_backend/gfx_emulator/exec/memory/watch.hpp"
#include "hip_backend/hip_runtime/work.hpp"

namespace mla::hip_runtime {

hipError_t allocate(void** pointer, std::size_t bytes, Shared shared = {});
// Forgets the range that begins here, if it has this name.
bool forget(const void* base, std::string_view name);
hipError_t release(void* pointer);

// The range of hipMalloc() and its like, or of hipHostRegister(), that has this byte.
std::optional<gfx::Range> range_of(const void* pointer);

// What a copy, a fill or a call that frees memory does to bytes of the device, for the races of
// streams.
void look_for_races(const char* call, const Place& place, const Extent& extent, gfx::Intent intent);

enum class Side : std::uint8_t { host, device, past_the_end };
Side side_of(const void* pointer, std::size_t bytes);

}  // namespace mla::hip_runtime

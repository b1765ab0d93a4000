// Owns: variables with __managed__, memory that host and kernels name alike. Private to
// hip_runtime.
#pragma once

#include <cstddef>
#include <span>

#include "hip_backend/hip_runtime/state.hpp"

namespace mla::hip_runtime {

// Sets `*pointer`, and the pointer `name` of the unit's code, to memory with the initial bytes.
void add_managed(const Unit& unit, void** pointer, const char* name,
                 std::span<const std::byte> initial);
void remove_managed(const Unit& unit);
// The variable that begins here; empty if there is none.
std::span<std::byte> managed_at(const void* address);

}  // namespace mla::hip_runtime

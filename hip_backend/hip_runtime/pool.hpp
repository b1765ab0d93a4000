// Owns: pools of memory. A pool has no memory of its own: it counts what was given out from it.
// Private to hip_runtime.
#pragma once

#include <cstddef>

#include "hip_backend/hip_runtime/state.hpp"

namespace mla::hip_runtime {

// The pool that hipMallocAsync() takes from.
hipMemPool_t device_pool();
hipError_t allocate_from(hipMemPool_t pool, void** pointer, std::size_t bytes);

}  // namespace mla::hip_runtime

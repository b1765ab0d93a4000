// Atomics on global memory, with and without a returned value.
#include "device.hpp"

#define RELAXED __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT

KERNEL(256) atomics(u32* words, u64* longs, float* reals, double* doubles, u32* order) {
  const u32 n = group() * 256 + thread();
  __hip_atomic_fetch_add(words + 0, n, RELAXED);
  __hip_atomic_fetch_max(words + 1, n, RELAXED);
  __hip_atomic_fetch_min((i32*)words + 2, -(i32)n, RELAXED);
  __hip_atomic_fetch_and(words + 3, ~(1u << n % 32), RELAXED);
  __hip_atomic_fetch_or(words + 4, 1u << n % 29, RELAXED);
  __hip_atomic_fetch_xor(words + 5, n * 2654435761u, RELAXED);
  __hip_atomic_fetch_sub(words + 6, 3u, RELAXED);
  __hip_atomic_exchange(words + 7, n, RELAXED);
  __hip_atomic_fetch_add(longs + 0, (u64)n << 33, RELAXED);
  __hip_atomic_fetch_max(longs + 1, (u64)n << 35, RELAXED);
  __hip_atomic_fetch_add(reals, 0.25f, RELAXED);
  __hip_atomic_fetch_add(doubles, 0.125, RELAXED);
  order[n] = __hip_atomic_fetch_add(words + 8, 1u, RELAXED);  // each value once
  u64 seen = __hip_atomic_load(longs + 2, RELAXED);
  while (!__hip_atomic_compare_exchange_strong(longs + 2, &seen, seen + n, __ATOMIC_RELAXED,
                                               __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {
  }
}

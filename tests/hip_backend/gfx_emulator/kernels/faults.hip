// Kernels that do what they must not.
#include "device.hpp"

KERNEL(64) read_past_the_end(const u32* in, u32* out) {
  out[thread()] = in[thread() + 1];
}
KERNEL(64) write_anywhere(u32* out, u32 value) {
  out[thread()] = value;
}
KERNEL(64) one_wild_lane(u32* out, u64 distance) {
  out[thread() == 37 ? distance : thread()] = thread();
}
KERNEL(64) lds_past_the_end(u32* out, u32 at) {
  __shared__ u32 values[64];
  values[thread()] = 1;
  barrier();
  out[thread()] = values[thread() + at];
}
KERNEL(64) endless(volatile u32* out) {
  while (out[0] != 1) {
  }
}
KERNEL(64) trapped(u32* out) {
  if (out[0] == 5) __builtin_trap();
  out[0] = 6;
}
KERNEL(64) misaligned(u32* out) {
  __hip_atomic_fetch_add((u32*)((char*)out + 2), 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

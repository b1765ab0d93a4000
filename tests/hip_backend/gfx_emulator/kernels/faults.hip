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
// Loads in[lane] to LDS, where `m0` says.
KERNEL(64) load_to_lds(const u32* in, u32* out, u32 m0) {
  __shared__ u32 values[128];
  values[thread()] = values[64 + thread()] = 0xdd;
  barrier();
  const u64 address = (u64)(in + thread());
  const u32 start = (u32)(u64)(__attribute__((address_space(3))) u32*)values;
  asm volatile(
      "s_mov_b32 m0, %0\n s_nop 4\n global_load_lds_dword %1, off\n s_waitcnt vmcnt(0)" ::"s"(
          __builtin_amdgcn_readfirstlane(start + m0)),
      "v"(address)
      : "memory");
  barrier();
  out[thread()] = values[thread()];
  out[64 + thread()] = values[64 + thread()];
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

// Workgroups that wait for one another, in the ways in which kernels do.
#include "device.hpp"

DEVICE inline u32 load(u32* flag) {
  return __hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}
DEVICE inline u32 add(u32* flag, u32 value) {
  return __hip_atomic_fetch_add(flag, value, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
}
DEVICE inline void put(u32* out, u32 groups) {
  out[group() * 128 + thread()] = 1000 * groups + group();
}

// One thread counts the workgroup in, and looks until all are there.
KERNEL(128) meets_by_loads(u32* out, u32* flags, u32 groups) {
  if (thread() == 0) {
    add(flags, 1);
    while (load(flags) < groups) __builtin_amdgcn_s_sleep(1);
  }
  barrier();
  put(out, groups);
}

// The same, and it looks with an atomic that changes nothing.
KERNEL(128) meets_by_atomics(u32* out, u32* flags, u32 groups) {
  if (thread() == 0) {
    add(flags, 1);
    while (add(flags, 0) < groups) {
    }
  }
  barrier();
  put(out, groups);
}

// The same, and all threads go around with what one has seen.
KERNEL(128) meets_through_barriers(u32* out, u32* flags, u32 groups) {
  __shared__ u32 there;
  if (thread() == 0) add(flags, 1);
  do {
    barrier();
    if (thread() == 0) there = add(flags, 0);
    barrier();
  } while (there < groups);
  put(out, groups);
}

// The last workgroup begins, and each one lets the one before go on.
KERNEL(128) passes_from_last_to_first(u32* out, u32* flags, u32 groups) {
  if (thread() == 64) {
    while (load(flags) != groups - 1 - group()) {
    }
    add(flags, 1);
  }
  barrier();
  put(out, groups);
}

KERNEL(128) waits_for_nobody(u32* out, u32* flags, u32 groups) {
  while (load(flags) < groups) __builtin_amdgcn_s_sleep(1);
  put(out, groups);
}

// It neither stores nor meets anybody for longer than those that wait are left alone.
KERNEL(128) is_long_and_quiet(u32* out, u32*, u32) {
  u32 value = group() * 128 + thread() + 1;
  for (u32 n = 0; n < 30000; ++n) value = value * 1664525 + 1013904223;
  out[group() * 128 + thread()] = value;
}

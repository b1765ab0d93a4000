// Of checks.hip: what waves do to each other's words in LDS.
#pragma once
#include "device.hpp"

#define LDS_OFFSET(pointer) ((u32)(u64)(__attribute__((address_space(3))) u32*)(pointer))

KERNEL(128) lds_write_without_wait(u32* out) {
  __shared__ u32 values[128];
  u32 value;
  asm volatile("ds_write_b32 %1, %2\n s_barrier\n ds_read_b32 %0, %3\n s_waitcnt lgkmcnt(0)"
               : "=&v"(value)
               : "v"((u32)(u64)(__attribute__((address_space(3))) u32*)(values + thread())),
                 "v"(thread()),
                 "v"((u32)(u64)(__attribute__((address_space(3))) u32*)(values + 127 - thread()))
               : "memory");
  out[thread()] = value;
}

// The writer waits, but after the barrier that others rely on.
KERNEL(128) lds_write_waited_after_the_barrier(u32* out) {
  __shared__ u32 values[128];
  u32 value;
  asm volatile(
      "ds_write_b32 %1, %2\n s_barrier\n s_waitcnt lgkmcnt(0)\n .rept 8\n v_mov_b32 %0, 0\n "
      ".endr\n ds_read_b32 %0, %3\n s_waitcnt lgkmcnt(0)"
      : "=&v"(value)
      : "v"(LDS_OFFSET(values + thread())), "v"(thread()), "v"(LDS_OFFSET(values + 127 - thread()))
      : "memory");
  out[thread()] = value;
}
KERNEL(128) load_to_lds_waited_after_the_barrier(const u32* in, u32* out) {
  __shared__ u32 values[128];
  u32 value;
  asm volatile(
      "v_readfirstlane_b32 s60, %2\n s_mov_b32 m0, s60\n s_nop 4\n"
      "global_load_lds_dword %1, off\n s_barrier\n s_waitcnt vmcnt(0)\n"
      "ds_read_b32 %0, %3\n s_waitcnt lgkmcnt(0)"
      : "=&v"(value)
      : "v"(in + thread()), "v"(LDS_OFFSET(values + thread())),
        "v"(LDS_OFFSET(values + 127 - thread()))
      : "memory", "s60");
  out[thread()] = value;
}
// The reader's value may be that of the next round.
#define WRITE_ALL "ds_write_b32 %1, %2\n s_waitcnt lgkmcnt(0)\n s_barrier\n"
KERNEL(128) lds_read_waited_after_the_barrier(u32* out) {
  __shared__ u32 values[128];
  u32 value;
  asm volatile(WRITE_ALL
               "ds_read_b32 %0, %3\n s_barrier\n s_waitcnt lgkmcnt(0)\n"
               "ds_write_b32 %1, %0\n s_waitcnt lgkmcnt(0)"
               : "=&v"(value)
               : "v"(LDS_OFFSET(values + thread())), "v"(thread()),
                 "v"(LDS_OFFSET(values + 127 - thread()))
               : "memory");
  out[thread()] = value;
}
// Two waves write one place; which of them comes last is open.
KERNEL(128) lds_overwritten_before_the_wait(u32* out) {
  __shared__ u32 values[128];
  u32 value;
  asm volatile(
      "ds_write_b32 %1, %2\n s_barrier\n ds_write_b32 %3, %2\n s_waitcnt lgkmcnt(0)\n"
      "s_barrier\n ds_read_b32 %0, %1\n s_waitcnt lgkmcnt(0)"
      : "=&v"(value)
      : "v"(LDS_OFFSET(values + thread())), "v"(thread()), "v"(LDS_OFFSET(values + 127 - thread()))
      : "memory");
  out[thread()] = value;
}
// A second barrier after the wait; and what a wave reads of its own, it may wait for itself.
KERNEL(128) waits_between_two_barriers(const u32* in, u32* out) {
  __shared__ u32 values[256];
  u32 value, own;
  asm volatile(
      "v_readfirstlane_b32 s60, %6\n s_mov_b32 m0, s60\n s_nop 4\n"
      "ds_write_b32 %2, %3\n global_load_lds_dword %5, off\n s_barrier\n"
      "s_waitcnt vmcnt(0) lgkmcnt(0)\n ds_read_b32 %1, %6\n s_waitcnt lgkmcnt(0)\n"
      "s_barrier\n ds_read_b32 %0, %4\n s_waitcnt lgkmcnt(0)\n"
      "s_barrier\n ds_write_b32 %2, %1\n s_waitcnt lgkmcnt(0)"
      : "=&v"(value), "=&v"(own)
      : "v"(LDS_OFFSET(values + thread())), "v"(thread()), "v"(LDS_OFFSET(values + 127 - thread())),
        "v"(in + thread()), "v"(LDS_OFFSET(values + 128 + thread()))
      : "memory", "s60");
  out[thread()] = value + own;
}

// The wave's own load to LDS: unlike its ds_write, it does not come before its ds_read.
KERNEL(64) load_to_lds_without_wait(const u32* in, u32* out) {
  __shared__ u32 values[64];
  u32 value;
  asm volatile(
      "s_mov_b32 m0, 0\n s_nop 4\n global_load_lds_dword %1, off\n ds_read_b32 %0, %2\n"
      "s_waitcnt vmcnt(0) lgkmcnt(0)"
      : "=&v"(value)
      : "v"(in + thread()),
        "v"((u32)(u64)(__attribute__((address_space(3))) u32*)(values + thread()))
      : "memory");
  out[thread()] = value;
}

KERNEL(128) read_without_barrier(u32* out) {
  __shared__ u32 values[128];
  values[thread()] = thread();
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  out[thread()] = values[127 - thread()];
}

// The writer has read it too, after the other wave.
KERNEL(128) one_of_two_readers_overwrites(u32* out) {
  __shared__ u32 values[128];
  values[thread()] = thread() + 7;
  barrier();
  out[thread()] = *(volatile __attribute__((address_space(3))) u32*)&values[3];
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  if (thread() == 64) *(volatile __attribute__((address_space(3))) u32*)&values[3] = 1;
}

KERNEL(128) overwrite_without_barrier(u32* out) {
  __shared__ u32 values[128];
  values[thread()] = thread();
  barrier();
  out[thread()] = values[127 - thread()];
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  values[thread()] = 5;
}

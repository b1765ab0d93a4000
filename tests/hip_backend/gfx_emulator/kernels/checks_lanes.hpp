// Kernels of the check `lanes`: barriers that lanes go around, and shuffles from lanes that are not
// active, with those that are right beside them.
#pragma once

#include "device.hpp"

// Two waves: the compiler leaves the barrier of one wave out.
KERNEL(128) barrier_in_divergent_lanes(u32* out) {
  if ((thread() & 63) < 40) {
    out[thread()] = 1;
    barrier();
  }
  out[thread() + 1] = 2;
}

// Lanes that have left the program are none that a barrier waits for.
KERNEL(128) barrier_after_lanes_left(u32* out) {
  if ((thread() & 63) >= 40) return;
  out[thread()] = 1;
  barrier();
  out[thread()] = 2;
}

KERNEL(128) two_barriers_for_one(u32* out) {
  if (__builtin_amdgcn_readfirstlane(thread()) < 64) {
    out[thread()] = 1;
    asm volatile("s_barrier ; of the first wave" ::: "memory");
  } else {
    asm volatile("s_barrier ; of the second" ::: "memory");
    out[thread()] = 2;
  }
}

KERNEL(64) shuffle_from_inactive_lanes(const u32* in, u32* out) {
  const u32 value = in[thread()];
  if (thread() < 32)
    out[thread()] = (u32)__builtin_amdgcn_ds_bpermute((int)(thread() + 32) * 4, (int)value);
}
KERNEL(64) shuffle_in_active_lanes(const u32* in, u32* out) {
  const u32 value = in[thread()];
  u32 other = (u32)__builtin_amdgcn_ds_bpermute((int)(thread() ^ 32) * 4, (int)value);
  if (thread() < 32)
    other += (u32)__builtin_amdgcn_ds_bpermute((int)(thread() ^ 1) * 4, (int)value);
  out[thread()] = other;
}

// row_shl:8
KERNEL(64) dpp_from_inactive_lanes(const u32* in, u32* out) {
  const u32 value = in[thread()];
  if (thread() < 8)
    out[thread()] = (u32)__builtin_amdgcn_update_dpp(0, (int)value, 0x108, 15, 15, true);
}
KERNEL(64) dpp_in_active_lanes(const u32* in, u32* out) {
  const u32 value = in[thread()];
  out[thread()] = (u32)__builtin_amdgcn_update_dpp(0, (int)value, 0x108, 15, 15, true);
}

#define READ_LANE(lane)                                                                  \
  u32 value;                                                                             \
  asm volatile("s_mov_b64 exec, 0xff\n v_mov_b32 v77, 1\n v_readlane_b32 %0, v77, " lane \
               "\n s_mov_b64 exec, -1"                                                   \
               : "=s"(value)                                                             \
               :                                                                         \
               : "v77");                                                                 \
  out[thread()] = value
KERNEL(64) readlane_of_nothing(u32* out) {
  READ_LANE("40");
}
KERNEL(64) readlane_of_a_lane_that_was_written(u32* out) {
  READ_LANE("4");
}
KERNEL(64) readlane_beside_a_written_lane(u32* out) {
  u32 value;
  asm volatile(
      "s_mov_b64 exec, 0xff\n s_mov_b32 s77, 5\n v_writelane_b32 v78, s77, 41\n"
      "v_readlane_b32 %0, v78, 40\n s_mov_b64 exec, -1"
      : "=s"(value)
      :
      : "v78", "s77");
  out[thread()] = value;
}

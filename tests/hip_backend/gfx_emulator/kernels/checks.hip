// Kernels with one mistake each that an ordinary run may hide.
#include "checks_lanes.hpp"
#include "checks_lds.hpp"
#include "device.hpp"

KERNEL(64) clean(const u32* in, u32* out) {
  u32 value;
  asm volatile("global_load_dword %0, %1, off\n s_waitcnt vmcnt(0)\n v_add_u32 %0, %0, 1"
               : "=&v"(value)
               : "v"(in + thread())
               : "memory");
  out[thread()] = value;
}

KERNEL(64) vector_load_without_wait(const u32* in, u32* out) {
  u32 value;
  asm volatile("global_load_dword %0, %1, off\n v_add_u32 %0, %0, 1\n s_waitcnt vmcnt(0)"
               : "=&v"(value)
               : "v"(in + thread())
               : "memory");
  out[thread()] = value;
}

// Half of the lanes load, the others compute with their part of the same register; then all do.
#define LOAD_IN_THE_LOWER_LANES                                                              \
  "s_mov_b32 exec_hi, 0\n global_load_dword %0, %1, off\n s_mov_b32 exec_lo, 0\n s_mov_b32 " \
  "exec_hi, -1\n v_mov_b32 %0, 7\n v_add_u32 %0, %0, 1\n s_mov_b32 exec_lo, -1\n"
KERNEL(64) load_for_other_lanes(const u32* in, u32* out) {
  u32 value;
  asm volatile(LOAD_IN_THE_LOWER_LANES "s_waitcnt vmcnt(0)\n v_add_u32 %0, %0, 1"
               : "=&v"(value)
               : "v"(in + thread())
               : "memory");
  out[thread()] = value;
}
KERNEL(64) load_for_some_lanes_without_wait(const u32* in, u32* out) {
  u32 value;
  asm volatile(LOAD_IN_THE_LOWER_LANES "v_add_u32 %0, %0, 1\n s_waitcnt vmcnt(0)"
               : "=&v"(value)
               : "v"(in + thread())
               : "memory");
  out[thread()] = value;
}

// The wait leaves the newer of two loads open.
KERNEL(64) wait_for_the_wrong_load(const u32* in, u32* out) {
  u32 a, b;
  asm volatile(
      "global_load_dword %0, %2, off\n global_load_dword %1, %2, off offset:4\n"
      "s_waitcnt vmcnt(1)\n v_add_u32 %0, %0, 1\n v_add_u32 %1, %1, 1\n s_waitcnt vmcnt(0)"
      : "=&v"(a), "=&v"(b)
      : "v"(in + thread())
      : "memory");
  out[thread()] = a + b;
}

#if defined(__OPTIMIZE__)  // without, the compiler offers registers that s_load does not take
KERNEL(64) scalar_load_without_wait(const u32* in, u32* out) {
  u32 value;
  asm volatile("s_load_dword %0, %1, 0x0\n s_add_u32 %0, %0, 1\n s_waitcnt lgkmcnt(0)"
               : "=&s"(value)
               : "s"(in)
               : "memory", "scc");
  out[thread()] = value;
}
#endif

KERNEL(64) register_never_written(u32* out) {
  u32 value;
  asm volatile("v_add_u32 %0, 1, v77" : "=v"(value) : : "v77");
  out[thread()] = value;
}

// The copy is none; its use is.
KERNEL(64) copy_of_a_register_never_written(u32* out) {
  u32 value;
  asm volatile("v_mov_b32 %0, v77\n v_mov_b32 v78, 0\n v_add_u32 %0, %0, v78"
               : "=&v"(value)
               :
               : "v77", "v78");
  out[thread()] = value;
}

// M0 leads from s90 to s91.
#define MOVE_BY_M0                                                                         \
  "s_mov_b32 m0, 1\n s_nop 4\n s_movrels_b32 %0, s90\n s_movreld_b32 s90, %0\n s_add_u32 " \
  "%0, %0, s91"
KERNEL(64) scalar_moved_by_m0(u32* out) {
  u32 value;
  asm volatile("s_mov_b32 s91, 7\n" MOVE_BY_M0 : "=&s"(value) : : "s90", "s91", "scc");
  out[thread()] = value;
}
KERNEL(64) scalar_moved_by_m0_never_written(u32* out) {
  u32 value;
  asm volatile(MOVE_BY_M0 : "=&s"(value) : : "s90", "s91", "scc");
  out[thread()] = value;
}

KERNEL(64) scalar_never_written(u32* out) {
  u32 value;
  asm volatile("s_mov_b32 s77, s78\n s_add_u32 %0, s77, 1" : "=s"(value) : : "s77", "s78", "scc");
  out[thread()] = value;
}

// Spilled to a lane, brought back, and used.
KERNEL(64) spilled_scalar_never_written(u32* out) {
  u32 value;
  asm volatile(
      "v_mov_b32 v70, 0\n v_writelane_b32 v70, s78, 3\n v_readlane_b32 s77, v70, 3\n"
      "s_add_u32 %0, s77, 1"
      : "=s"(value)
      :
      : "v70", "s77", "s78", "scc");
  out[thread()] = value;
}

// What a compiler spills although nothing wrote it, beside what it uses. The lane is written again
// by itself, and then with the whole register.
KERNEL(64) spills_what_nobody_uses(u32* out) {
  u32 value;
  asm volatile(
      "v_mov_b32 v70, 0\n s_mov_b32 s76, 5\n"
      "v_writelane_b32 v70, s78, 3\n v_writelane_b32 v70, s76, 4\n"
      "v_readlane_b32 s77, v70, 3\n v_readlane_b32 s75, v70, 4\n s_add_u32 %0, s75, 1\n"
      "v_writelane_b32 v70, s76, 3\n v_readlane_b32 s77, v70, 3\n s_add_u32 %0, %0, s77\n"
      "v_writelane_b32 v70, s78, 3\n v_mov_b32 v70, 1\n"
      "v_readlane_b32 s77, v70, 3\n s_add_u32 %0, %0, s77"
      : "=&s"(value)
      :
      : "v70", "s75", "s76", "s77", "s78", "scc");
  out[thread()] = value;
}

// A spill, or a register that a function saves for its caller: nothing wrote it, and nobody uses
// it.
#define SPILL_V76                                                                      \
  "scratch_store_dwordx2 %1, v[76:77], off\n v_mov_b32 v77, 5\n"                       \
  "scratch_store_dword %1, v77, off offset:8\n s_waitcnt vmcnt(0)\n v_mov_b32 %0, 6\n" \
  "scratch_load_dwordx3 v[76:78], %1, off\n s_waitcnt vmcnt(0)\n"
#define SCRATCH_OFFSET(pointer) ((u32)(__attribute__((address_space(5))) u32*)(pointer))
KERNEL(64) spills_a_register_never_written(u32* out) {
  volatile u32 place[4];
  u32 value;
  asm volatile(SPILL_V76 "v_add_u32 %0, %0, v78"
               : "=&v"(value)
               : "v"(SCRATCH_OFFSET(place))
               : "v76", "v77", "v78", "memory");
  out[thread()] = value;
}
KERNEL(64) spilled_register_never_written(u32* out) {
  volatile u32 place[4];
  u32 value;
  asm volatile(SPILL_V76 "v_add_u32 %0, %0, v77"
               : "=&v"(value)
               : "v"(SCRATCH_OFFSET(place))
               : "v76", "v77", "v78", "memory");
  out[thread()] = value;
}
// One of its lanes wrote its own.
KERNEL(64) scratch_of_one_lane(u32* out) {
  volatile u32 place[4];
  u32 value;
  asm volatile(
      "v_mov_b32 %0, 3\n s_mov_b64 exec, 4\n scratch_store_dword %1, %0, off\n"
      "s_waitcnt vmcnt(0)\n scratch_load_dword v77, %1, off\n s_waitcnt vmcnt(0)\n"
      "v_add_u32 %0, %0, v77\n s_mov_b64 exec, -1"
      : "=&v"(value)
      : "v"(SCRATCH_OFFSET(place))
      : "v77", "memory");
  out[thread()] = value;
}
KERNEL(64) scratch_never_written(u32* out) {
  volatile u32 place[4];
  if (out[0] == 12345) place[thread() % 4] = 1;
  out[thread()] = place[thread() % 4] + 1;
}

// A short branch that no lane takes, and that no wave jumps over.
KERNEL(64) no_lane_reads(u32* out) {
  u32 value;
  asm volatile(
      "v_mov_b32 %0, 3\n s_mov_b64 exec, 0\n v_add_u32 %0, 1, v72\n"
      "v_cmp_eq_u32 vcc, v72, v73\n v_pk_add_f32 v[74:75], v[72:73], v[72:73]\n"
      "s_mov_b64 exec, -1"
      : "=&v"(value)
      :
      : "v72", "v73", "v74", "v75", "vcc");
  out[thread()] = value;
}

// A mask that holds bits for the lower lanes only, used for all of them.
KERNEL(64) lanes_never_written(u32* out) {
  u64 before;
  asm volatile(
      "s_mov_b32 exec_hi, 0\n s_or_b64 s[78:79], s[78:79], exec\n s_mov_b32 exec_hi, -1\n"
      "s_and_saveexec_b64 %0, s[78:79]\n s_mov_b64 exec, -1"
      : "=s"(before)
      :
      : "s78", "s79", "scc");
  out[thread()] = (u32)before;
}

KERNEL(64) branch_on_nothing_written(u32* out) {
  asm volatile("s_and_b64 s[78:79], s[78:79], exec\n s_cbranch_scc1 0\n s_nop 0"
               :
               :
               : "s78", "s79", "scc");
  out[thread()] = 1;
}

// The product leaves SCC alone, so the branch still depends on what was not written.
KERNEL(64) branch_on_nothing_written_later(u32* out) {
  asm volatile(
      "s_and_b64 s[78:79], s[78:79], exec\n s_mul_i32 s77, exec_lo, 3\n s_cbranch_scc1 0\n s_nop 0"
      :
      :
      : "s77", "s78", "s79", "scc");
  out[thread()] = 1;
}

// What a compiler does with the mask of a loop: bits of active lanes only, taken back by EXEC.
KERNEL(64) mask_of_some_lanes(u32* out) {
  u64 mask;
  asm volatile(
      "s_mov_b32 exec_hi, 0\n s_or_b64 s[78:79], s[78:79], exec\n s_and_b64 %0, s[78:79], exec\n"
      "s_andn2_b64 s[78:79], s[78:79], exec\n s_mov_b64 exec, -1\n v_mov_b32 v77, v78"
      : "=s"(mask)
      :
      : "s78", "s79", "scc", "v77", "v78");
  out[thread()] = (u32)mask;
}

KERNEL(64) lds_never_written(u32* out) {
  __shared__ volatile u32 values[64];
  if (out[0] == 12345) values[thread()] = 1;
  out[thread()] = values[thread()];
}

KERNEL(128) barrier_for_half(u32* out) {
  out[thread()] = 1;
  if (thread() < 64) __builtin_amdgcn_s_barrier();
}

// FLAT has no order with the loads around it: a count above 0 says nothing of either.
KERNEL(64) flat_waited_for_by_count(const u32* in, u32* out) {
  u32 a, b;
  asm volatile(
      "flat_load_dword %0, %2\n global_load_dword %1, %2, off offset:4\n"
      "s_waitcnt vmcnt(1) lgkmcnt(0)\n v_add_u32 %0, %0, 1\n s_waitcnt vmcnt(0)\n"
      "v_add_u32 %1, %1, 1"
      : "=&v"(a), "=&v"(b)
      : "v"(in + thread())
      : "memory");
  out[thread()] = a + b;
}

KERNEL(64) load_before_a_flat(const u32* in, u32* out) {
  u32 a, b;
  asm volatile(
      "global_load_dword %0, %2, off\n flat_load_dword %1, %2 offset:4\n"
      "s_waitcnt vmcnt(1)\n v_add_u32 %0, %0, 1\n s_waitcnt vmcnt(0) lgkmcnt(0)\n"
      "v_add_u32 %1, %1, 1"
      : "=&v"(a), "=&v"(b)
      : "v"(in + thread())
      : "memory");
  out[thread()] = a + b;
}

// 63 loads are as many as vmcnt counts, the 64th waits for the first of them.
KERNEL(64) as_many_as_the_counter_holds(const u32* in, u32* out) {
  u32 a, b;
  asm volatile(
      "global_load_dword %0, %2, off\n .rept 62\n global_load_dword %1, %2, off\n .endr\n"
      "v_add_u32 %0, %0, 1\n s_waitcnt vmcnt(0)"
      : "=&v"(a), "=&v"(b)
      : "v"(in + thread())
      : "memory");
  out[thread()] = a;
}

KERNEL(64) more_than_the_counter_holds(const u32* in, u32* out) {
  u32 a, b;
  asm volatile(
      "global_load_dword %0, %2, off\n .rept 63\n global_load_dword %1, %2, off\n .endr\n"
      "v_add_u32 %0, %0, 1\n s_waitcnt vmcnt(0)"
      : "=&v"(a), "=&v"(b)
      : "v"(in + thread())
      : "memory");
  out[thread()] = a;
}

// The two loads come back in an unknown order.
KERNEL(64) loads_of_two_kinds_into_one_register(const u32* in, u32* out) {
  __shared__ u32 values[64];
  u32 value;
  values[thread()] = 7;
  asm volatile(
      "s_waitcnt lgkmcnt(0)\n ds_read_b32 %0, %2\n global_load_dword %0, %1, off\n"
      "s_waitcnt vmcnt(0) lgkmcnt(0)"
      : "=&v"(value)
      : "v"(in + thread()),
        "v"((u32)(u64)(__attribute__((address_space(3))) u32*)(values + thread()))
      : "memory");
  out[thread()] = value;
}

// Two waves write the halves of the same dwords.
KERNEL(128) halves_of_a_dword(u32* out) {
  __shared__ u16 values[128];
  asm volatile("ds_write_b16 %0, %1"
               :
               : "v"((u32)(u64)(__attribute__((address_space(3)))
                                u16*)(values + 2 * (thread() % 64) + thread() / 64)),
                 "v"(thread())
               : "memory");
  barrier();
  out[thread()] = values[thread()];
}

KERNEL(128) both_write_one_byte(u32* out) {
  __shared__ u8 values[256];
  asm volatile(
      "ds_write_b8 %0, %1"
      :
      : "v"((u32)(u64)(__attribute__((address_space(3))) u8*)(values + 4 * (thread() % 64) + 1)),
        "v"(thread() + 1)
      : "memory");
  barrier();
  out[thread()] = values[4 * (thread() % 64) + 1];
}

// Global memory: the second wave reads what the first one writes.
KERNEL(128) global_without_barrier(u32* out) {
  if (thread() < 64) out[thread()] = 3 + thread();
  __builtin_amdgcn_s_waitcnt(0);
  if (thread() >= 64) out[thread()] = ((volatile u32*)out)[thread() - 64];
}

KERNEL(128) global_with_barrier(u32* out) {
  if (thread() < 64) out[thread()] = 3 + thread();
  __builtin_amdgcn_s_waitcnt(0);
  barrier();
  if (thread() >= 64) out[thread()] = ((volatile u32*)out)[thread() - 64];
}

// Each workgroup writes its own value over that of the others.
KERNEL(64) groups_write_one_place(u32* out) {
  out[thread()] = 100 * group() + thread() + 1;
}

KERNEL(64) groups_write_bytes_of_a_dword(u32* out) {
  ((volatile u8*)out)[4 * thread() + group()] = (u8)(1 + group());
}

KERNEL(64) groups_add_atomically(u32* out) {
  __hip_atomic_fetch_add(out + thread(), 1U, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// As groups_ordered_by_a_flag, but nothing of this orders memory: relaxed, and of one workgroup.
KERNEL(64) groups_ordered_by_nothing(u32* out) {
  if (group() == 0) {
    out[thread()] = 9;
    __hip_atomic_fetch_add(out + 64, 1U, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  } else if (__hip_atomic_fetch_add(out + 64, 1U, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP) !=
             0) {
    out[thread() + 65] = ((volatile u32*)out)[63 - thread()];
  }
}

// The second workgroup reads what the first one wrote, and asks a flag first.
KERNEL(64) groups_ordered_by_a_flag(u32* out) {
  if (group() == 0) {
    out[thread()] = 9;
    __hip_atomic_fetch_add(out + 64, 1U, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  } else if (__hip_atomic_load(out + 64, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != 0) {
    out[thread() + 65] = ((volatile u32*)out)[63 - thread()];
  }
}

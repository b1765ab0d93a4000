// The first workgroups write data and tell of it by a flag; the last one learns of it and reads
// the data. Every part of that can be right or wrong. Where lines count, each has its own.
#include "device.hpp"

#define AGENT __HIP_MEMORY_SCOPE_AGENT
#define SYSTEM __HIP_MEMORY_SCOPE_SYSTEM
#define GROUP __HIP_MEMORY_SCOPE_WORKGROUP
#define FENCE(order, scope) __builtin_amdgcn_fence(order, scope)
#define STORE(order, scope) __hip_atomic_store(flag, 1, order, scope)
#define ADD(order, scope) __hip_atomic_fetch_add(flag, 1, order, scope)
#define FIRST if (thread() == 0)
#define SPIN(order, scope)                             \
  while (__hip_atomic_load(flag, order, scope) == 0) { \
  }

#define TELL_RELEASED \
  barrier();          \
  FIRST STORE(__ATOMIC_RELEASE, AGENT)
#define LEARN_ACQUIRED FIRST{SPIN(__ATOMIC_ACQUIRE, AGENT)} barrier()
#define LEARN_RELAXED FIRST{SPIN(__ATOMIC_RELAXED, AGENT)} barrier()

DEVICE inline u32 value() {
  return thread() * 3 + 1;
}
#define READ out[thread()] = data[thread() ^ 64]

#define HAND_OVER(name, write, tell, learn, read)    \
  KERNEL(128) name(u32* data, u32* flag, u32* out) { \
    if (group() == 0) {                              \
      write;                                         \
      tell;                                          \
    } else {                                         \
      learn;                                         \
      read;                                          \
    }                                                \
  }
#define WRITE data[thread()] = value()

// Right.
HAND_OVER(operations, WRITE, TELL_RELEASED, LEARN_ACQUIRED, READ)
HAND_OVER(fences_of_all, WRITE, FENCE(__ATOMIC_RELEASE, "agent"); barrier();
          FIRST STORE(__ATOMIC_RELAXED, AGENT), LEARN_RELAXED;
          FENCE(__ATOMIC_ACQUIRE, "agent"), READ)
HAND_OVER(
    fences_of_one, WRITE, barrier(); FIRST {
      FENCE(__ATOMIC_RELEASE, "agent");
      STORE(__ATOMIC_RELAXED, AGENT);
    },
                                     FIRST {
                                       SPIN(__ATOMIC_RELAXED, AGENT)
                                       FENCE(__ATOMIC_ACQUIRE, "agent");
                                     } barrier(),
                                     READ)
HAND_OVER(of_the_system, WRITE, barrier(); FIRST STORE(__ATOMIC_RELEASE, SYSTEM),
                                           FIRST{SPIN(__ATOMIC_ACQUIRE, SYSTEM)} barrier(), READ)
HAND_OVER(
    read_modify_write, WRITE, barrier(); FIRST ADD(__ATOMIC_ACQ_REL, AGENT),
                                         FIRST {
                                           while (ADD(__ATOMIC_ACQ_REL, AGENT) == 0) {
                                           }
                                         } barrier(),
                                         READ)
HAND_OVER(volatile_read, WRITE, TELL_RELEASED, LEARN_RELAXED,
          out[thread()] = ((volatile u32*)data)[thread() ^ 64])
HAND_OVER(atomic_data, __hip_atomic_store(data + thread(), value(), __ATOMIC_RELAXED, AGENT),
          FIRST STORE(__ATOMIC_RELAXED, AGENT), LEARN_RELAXED,
          out[thread()] = __hip_atomic_load(data + (thread() ^ 64), __ATOMIC_RELAXED, AGENT))
HAND_OVER(written_through, __hip_atomic_store(data + thread(), value(), __ATOMIC_RELAXED, AGENT);
          __builtin_amdgcn_s_waitcnt(0), barrier();
          FIRST STORE(__ATOMIC_RELAXED, AGENT), LEARN_ACQUIRED, READ)

HAND_OVER(flag_read_again, WRITE, TELL_RELEASED, LEARN_ACQUIRED,
          out[thread()] = data[thread() ^ 64] + *flag)
HAND_OVER(nothing_tells, WRITE, , , out[thread()] = data[thread() ^ 64] + *flag)
// The plain load is a guess, and the atomic tests it.
HAND_OVER(guessed, __hip_atomic_fetch_add(data + thread(), 3, __ATOMIC_RELAXED, AGENT),
          FIRST STORE(__ATOMIC_RELAXED, AGENT), LEARN_RELAXED, {
            u32 old = data[thread() ^ 64];
            while (!__hip_atomic_compare_exchange_strong(
                data + (thread() ^ 64), &old, old * 2, __ATOMIC_RELAXED, __ATOMIC_RELAXED, AGENT)) {
            }
            out[thread()] = old;
          })

// Without a release, or with one that is too early or too narrow.
HAND_OVER(relaxed_store, WRITE, barrier();
          FIRST STORE(__ATOMIC_RELAXED, AGENT), LEARN_ACQUIRED, READ)
HAND_OVER(relaxed_add, WRITE, barrier(); FIRST ADD(__ATOMIC_RELAXED, AGENT), LEARN_ACQUIRED, READ)
HAND_OVER(release_of_the_group, WRITE, FENCE(__ATOMIC_RELEASE, "workgroup"); barrier();
          FIRST STORE(__ATOMIC_RELAXED, AGENT), LEARN_ACQUIRED, READ)
HAND_OVER(release_too_early, FENCE(__ATOMIC_RELEASE, "agent"); WRITE, barrier();
          FIRST STORE(__ATOMIC_RELAXED, AGENT), LEARN_ACQUIRED, READ)
HAND_OVER(flag_before_data, FIRST STORE(__ATOMIC_RELEASE, AGENT), WRITE, LEARN_ACQUIRED, READ)
HAND_OVER(
    release_not_waited_for, WRITE, barrier(); FIRST {
      asm volatile(
          "s_waitcnt vmcnt(0)\n buffer_wbl2 sc1\n global_store_dword %0, %1, off sc1" ::"v"(flag),
          "v"(1)
          : "memory");
    },
                                              LEARN_ACQUIRED, READ)
HAND_OVER(release_of_cache_too_near, WRITE;
          asm volatile("buffer_wbl2 sc0\n s_waitcnt vmcnt(0)" :: : "memory"), barrier();
          FIRST STORE(__ATOMIC_RELAXED, AGENT), LEARN_ACQUIRED, READ)
HAND_OVER(no_barrier, WRITE, if (thread() == 64) STORE(__ATOMIC_RELEASE, AGENT), LEARN_ACQUIRED,
          READ)
HAND_OVER(overwritten, WRITE, barrier();
          FIRST STORE(__ATOMIC_RELAXED, AGENT), LEARN_ACQUIRED, data[thread()] = out[thread()])

// Without an acquire, or with one that is too early or too narrow.
HAND_OVER(relaxed_load, WRITE, TELL_RELEASED, LEARN_RELAXED, READ)
HAND_OVER(acquire_of_the_group, WRITE, TELL_RELEASED, LEARN_RELAXED;
          FENCE(__ATOMIC_ACQUIRE, "workgroup"), READ)
HAND_OVER(acquire_of_cache_too_near, WRITE, TELL_RELEASED, LEARN_RELAXED;
          asm volatile("buffer_inv sc0" :: : "memory"), READ)
HAND_OVER(sums_unacquired, __hip_atomic_fetch_add(data + thread(), 3, __ATOMIC_RELAXED, AGENT),
          TELL_RELEASED, LEARN_RELAXED, READ)
HAND_OVER(sums_unreleased, __hip_atomic_fetch_add(data + thread(), 3, __ATOMIC_RELAXED, AGENT),
          barrier();
          FIRST STORE(__ATOMIC_RELAXED, AGENT), LEARN_ACQUIRED, READ)
HAND_OVER(acquire_too_early, WRITE, TELL_RELEASED, FENCE(__ATOMIC_ACQUIRE, "agent");
          LEARN_RELAXED, READ)

HAND_OVER(
    acquire_before_the_answer, WRITE, TELL_RELEASED,
    FIRST {
      u32 seen = 0;
      while (seen == 0)
        asm volatile("global_load_dword %0, %1, off sc1\n buffer_inv sc1\n s_waitcnt vmcnt(0)"
                     : "=v"(seen)
                     : "v"(flag)
                     : "memory");
    } barrier(),
    READ)

// Scopes of a workgroup.
HAND_OVER(store_of_the_group, WRITE, FENCE(__ATOMIC_RELEASE, "agent"); barrier();
          FIRST STORE(__ATOMIC_RELAXED, GROUP), LEARN_ACQUIRED, READ)
HAND_OVER(load_of_the_group, WRITE, TELL_RELEASED, FIRST{SPIN(__ATOMIC_RELAXED, GROUP)} barrier();
          FENCE(__ATOMIC_ACQUIRE, "agent"), READ)

// The second of three groups learns of the first one's data, and tells the third.
template <int first_tells>
DEVICE inline void relay(u32* data, u32* flag, u32* out) {
  u32* const next = data + 128;
  if (group() == 0) {
    WRITE;
    barrier();
    FIRST STORE(first_tells, AGENT);
  } else if (group() == 1) {
    LEARN_ACQUIRED;
    FIRST __hip_atomic_store(next, 1, __ATOMIC_RELEASE, AGENT);
  } else {
    flag = next;
    LEARN_ACQUIRED;
    READ;
  }
}
KERNEL(128) relayed(u32* data, u32* flag, u32* out) {
  relay<__ATOMIC_RELEASE>(data, flag, out);
}
KERNEL(128) relayed_unreleased(u32* data, u32* flag, u32* out) {
  relay<__ATOMIC_RELAXED>(data, flag, out);
}

// Who tells before it learns does not pass on what it learned.
KERNEL(128) relayed_too_early(u32* data, u32* flag, u32* out) {
  u32* const next = data + 128;
  if (group() == 0) {
    WRITE;
    FIRST STORE(__ATOMIC_RELAXED, AGENT);
  } else if (group() == 1) {
    FIRST __hip_atomic_store(next, 1, __ATOMIC_RELEASE, AGENT);
    LEARN_ACQUIRED;
  } else {
    flag = next;
    LEARN_ACQUIRED;
    READ;
  }
}

// Each group but the last counts; the last adds up. `wrong` bits: no release, no acquire.
template <bool releases, bool acquires>
DEVICE inline void last_adds(u32* data, u32* flag, u32* out, u32 groups) {
  __shared__ u32 before;
  data[group() * 128 + thread()] = value();
  barrier();
  FIRST {
    if (releases) FENCE(__ATOMIC_RELEASE, "agent");
    before = ADD(__ATOMIC_RELAXED, AGENT);
    if (acquires) FENCE(__ATOMIC_ACQUIRE, "agent");
  }
  barrier();
  if (before != groups - 1) return;
  u32 sum = 0;
  for (u32 g = 0; g < groups; ++g) sum += data[g * 128 + thread()];
  out[thread()] = sum;
  FIRST* flag = 0;
}
KERNEL(128) last_adds_up(u32* data, u32* flag, u32* out, u32 groups) {
  last_adds<true, true>(data, flag, out, groups);
}
KERNEL(128) last_adds_unreleased(u32* data, u32* flag, u32* out, u32 groups) {
  last_adds<false, true>(data, flag, out, groups);
}
KERNEL(128) last_adds_unacquired(u32* data, u32* flag, u32* out, u32 groups) {
  last_adds<true, false>(data, flag, out, groups);
}

// The lines of a finding.
KERNEL(64) three_lines(u32* data, u32* flag, u32* out) {
  if (group() == 0) {
    data[thread()] = 5;
    __hip_atomic_store(flag, 1, __ATOMIC_RELAXED, AGENT);
  } else {
    while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, AGENT) == 0) {
    }
    out[thread()] = data[thread()];
  }
}
KERNEL(64) three_lines_of_the_reader(u32* data, u32* flag, u32* out) {
  if (group() == 0) {
    data[thread()] = 5;
    __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, AGENT);
  } else {
    while (__hip_atomic_load(flag, __ATOMIC_RELAXED, AGENT) == 0) {
    }
    out[thread()] = data[thread()];
  }
}

// What the group does not see: the other side is the host, which an agent's release does not reach.
KERNEL(64) told_to_the_host(u32* data, u32* flag) {
  data[thread()] = 5;
  FIRST STORE(__ATOMIC_RELEASE, AGENT);
}

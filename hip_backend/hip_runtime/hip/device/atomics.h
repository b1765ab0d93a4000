// Atomic operations: of the whole device, of the block, of the system; in no order. Each gives
// back what was there before.
#pragma once

namespace mla_hip {

// The number, not the pointer, decides no type: atomicAdd(unsigned*, 1) is common.
template <class T>
struct Same {
  using type = T;
};

}  // namespace mla_hip

#define MLA_SCOPED(name, suffix, builtin, scope)                                   \
  template <class T>                                                               \
  __device__ inline T name##suffix(T* to, typename mla_hip::Same<T>::type value) { \
    return builtin(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_##scope);       \
  }
#define MLA_ATOMIC(name, builtin)              \
  MLA_SCOPED(name, , builtin, AGENT)           \
  MLA_SCOPED(name, _block, builtin, WORKGROUP) \
  MLA_SCOPED(name, _system, builtin, SYSTEM)
MLA_ATOMIC(atomicAdd, __hip_atomic_fetch_add)
MLA_ATOMIC(atomicSub, __hip_atomic_fetch_sub)
MLA_ATOMIC(atomicMin, __hip_atomic_fetch_min)
MLA_ATOMIC(atomicMax, __hip_atomic_fetch_max)
MLA_ATOMIC(atomicAnd, __hip_atomic_fetch_and)
MLA_ATOMIC(atomicOr, __hip_atomic_fetch_or)
MLA_ATOMIC(atomicXor, __hip_atomic_fetch_xor)
MLA_ATOMIC(atomicExch, __hip_atomic_exchange)
MLA_SCOPED(unsafeAtomicAdd, , __hip_atomic_fetch_add, AGENT)
MLA_SCOPED(unsafeAtomicMin, , __hip_atomic_fetch_min, AGENT)
MLA_SCOPED(unsafeAtomicMax, , __hip_atomic_fetch_max, AGENT)
MLA_SCOPED(safeAtomicAdd, , __hip_atomic_fetch_add, AGENT)
MLA_SCOPED(atomicAddNoRet, , __hip_atomic_fetch_add, AGENT)
#undef MLA_ATOMIC
#undef MLA_SCOPED

#define MLA_CAS(suffix, scope)                                                                     \
  template <class T>                                                                               \
  __device__ inline T atomicCAS##suffix(T* to, typename mla_hip::Same<T>::type expected,           \
                                        typename mla_hip::Same<T>::type value) {                   \
    __hip_atomic_compare_exchange_strong(to, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED, \
                                         __HIP_MEMORY_SCOPE_##scope);                              \
    return expected;                                                                               \
  }
MLA_CAS(, AGENT)
MLA_CAS(_block, WORKGROUP)
MLA_CAS(_system, SYSTEM)
#undef MLA_CAS

// Up to `limit`, then 0; down to 0, then `limit`.
#define MLA_WRAPPING(suffix, scope)                                            \
  __device__ inline unsigned atomicInc##suffix(unsigned* to, unsigned limit) { \
    return __builtin_amdgcn_atomic_inc32(to, limit, __ATOMIC_RELAXED, scope);  \
  }                                                                            \
  __device__ inline unsigned atomicDec##suffix(unsigned* to, unsigned limit) { \
    return __builtin_amdgcn_atomic_dec32(to, limit, __ATOMIC_RELAXED, scope);  \
  }
MLA_WRAPPING(, "agent")
MLA_WRAPPING(_block, "workgroup")
MLA_WRAPPING(_system, "")
#undef MLA_WRAPPING

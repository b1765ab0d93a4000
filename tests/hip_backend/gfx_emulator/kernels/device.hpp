// What HIP's header would declare, so that the test kernels need a compiler and nothing else.
// The host compiles the shared parts as well: `SHARED` functions run on both sides.
#pragma once

#if defined(__HIP__)
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define SHARED __attribute__((device)) inline
#define DEVICE __attribute__((device))
#define KERNEL(threads) \
  extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, threads))) void
#else
#define SHARED inline
#endif

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;

#if defined(__HIP__)
DEVICE inline u32 thread() {
  return __builtin_amdgcn_workitem_id_x();
}
DEVICE inline u32 group() {
  return __builtin_amdgcn_workgroup_id_x();
}
DEVICE inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#endif

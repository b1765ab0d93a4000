// What kernels need of a compiler and a machine, under names of our own.
//
// Device code is compiled freestanding: for gfx942 and gfx950 by any clang that knows them, without
// ROCm's headers and libraries, and for sm_90 by nvcc. A wave has 64 lanes on AMD and 32 on NVIDIA;
// no kernel assumes either. Everything here is inlined.
#pragma once

#if defined(__AMDGCN__)
#define MLA_AMD 1
#define MLA_DEVICE static inline __attribute__((device, always_inline))
#define MLA_DEVICE_MEMBER inline __attribute__((device, always_inline))
// A wave may take every register that its workgroup leaves to it, if it needs them.
#define MLA_KERNEL(threads)                                                        \
  extern "C" __attribute__((global, amdgpu_flat_work_group_size(threads, threads), \
                            amdgpu_waves_per_eu(1))) void
#else
#define MLA_AMD 0
#define MLA_DEVICE static __device__ __forceinline__
#define MLA_DEVICE_MEMBER __device__ __forceinline__
#define MLA_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads, 1)
#endif
#define MLA_PRAGMA(text) _Pragma(#text)
#define MLA_UNROLL _Pragma("unroll")
#define MLA_UNROLL_BY(n) MLA_PRAGMA(unroll n)

namespace mla::hip {

using i64 = long long;
using u64 = unsigned long long;
using u32 = unsigned;
using u16 = unsigned short;
using u8 = unsigned char;

constexpr float kInfinity = __builtin_huge_valf();
constexpr float kLog2E = 1.44269504088896341F;
constexpr float kLn2 = 0.693147180559945309F;

// 16 and 8 bytes that are loaded and stored at once.
#if MLA_AMD
struct Bytes16 {
  __attribute__((ext_vector_type(4))) u32 w;
};
struct Bytes8 {
  __attribute__((ext_vector_type(2))) u32 w;
};
#else
struct alignas(16) Bytes16 {
  u32 w[4];
};
struct alignas(8) Bytes8 {
  u32 w[2];
};
#endif

template <class To, class From>
MLA_DEVICE To bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

#if MLA_AMD
constexpr int kLanes = 64;
MLA_DEVICE int thread_id() {
  return static_cast<int>(__builtin_amdgcn_workitem_id_x());
}
MLA_DEVICE int group_x() {
  return static_cast<int>(__builtin_amdgcn_workgroup_id_x());
}
MLA_DEVICE int group_y() {
  return static_cast<int>(__builtin_amdgcn_workgroup_id_y());
}
// A barrier of the workgroup that orders LDS and global memory.
MLA_DEVICE void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
// Lanes of a wave run in step; this only keeps the compiler from moving LDS accesses across.
MLA_DEVICE void wave_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
  __builtin_amdgcn_wave_barrier();
}
MLA_DEVICE float shuffle_xor(float value, int mask) {
  const int from = (thread_id() ^ mask) & (kLanes - 1);
  return bits_as<float>(__builtin_amdgcn_ds_bpermute(4 * from, bits_as<int>(value)));
}
MLA_DEVICE bool any_lane(bool x) {
  return __builtin_amdgcn_ballot_w64(x) != 0;
}
MLA_DEVICE float exp2_of(float x) {
  return __builtin_amdgcn_exp2f(x);
}
MLA_DEVICE float log2_of(float x) {
  return __builtin_amdgcn_logf(x);
}
// The compiler does not know that a pointer read from memory is global; this says so.
template <class T>
MLA_DEVICE const T* global_at(u64 address) {
  return (const T*)reinterpret_cast<__attribute__((address_space(1))) const T*>(address);
}
// The same number, of which the compiler knows nothing: what is computed from it is computed here,
// not kept in registers across a loop.
MLA_DEVICE int fresh(int x) {
  asm volatile("" : "+v"(x));
  return x;
}
// The scheduler moves no instruction across: loads that come too early take registers.
MLA_DEVICE void keep_schedule() {
  __builtin_amdgcn_sched_barrier(0);
}
MLA_DEVICE void sleep_a_while(u32 ticks) {
  for (u32 i = 0; i < ticks; ++i) __builtin_amdgcn_s_sleep(1);
}
#else
constexpr int kLanes = 32;
MLA_DEVICE int thread_id() {
  return static_cast<int>(threadIdx.x);
}
MLA_DEVICE int group_x() {
  return static_cast<int>(blockIdx.x);
}
MLA_DEVICE int group_y() {
  return static_cast<int>(blockIdx.y);
}
MLA_DEVICE void barrier() {
  __syncthreads();
}
MLA_DEVICE void wave_barrier() {
  __syncwarp();
}
MLA_DEVICE float shuffle_xor(float value, int mask) {
  return __shfl_xor_sync(0xFFFFFFFFU, value, mask);
}
MLA_DEVICE bool any_lane(bool x) {
  return __any_sync(0xFFFFFFFFU, x) != 0;
}
MLA_DEVICE float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
MLA_DEVICE float log2_of(float x) {
  return log2f(x);
}
template <class T>
MLA_DEVICE const T* global_at(u64 address) {
  return reinterpret_cast<const T*>(address);
}
MLA_DEVICE int fresh(int x) {
  asm volatile("" : "+r"(x));
  return x;
}
MLA_DEVICE void keep_schedule() {}
MLA_DEVICE void sleep_a_while(u32 ticks) {
  __nanosleep(ticks * 40);
}
#endif

MLA_DEVICE int lane_id() {
  return thread_id() % kLanes;
}
MLA_DEVICE int wave_id() {
  return thread_id() / kLanes;
}

// The compiler moves no access to memory across.
MLA_DEVICE void keep_order() {
  asm volatile("" ::: "memory");
}

MLA_DEVICE int ceil_div(int a, int b) {
  return (a + b - 1) / b;
}
MLA_DEVICE int min_of(int a, int b) {
  return a < b ? a : b;
}
MLA_DEVICE int max_of(int a, int b) {
  return a > b ? a : b;
}
// The larger one; a NaN on the right is ignored.
MLA_DEVICE float larger(float a, float b) {
  return b > a ? b : a;
}

// Makes waves arrive at a place in another order: results must not depend on it. `place` tells the
// calls of a kernel apart.
MLA_DEVICE void jitter(u32 seed, u32 place) {
  if (seed == 0) return;
  u32 x = seed ^ (place * 0x9E3779B9U) ^ static_cast<u32>(wave_id() * 0x85EBCA6B) ^
          static_cast<u32>(group_x() * 0xC2B2AE35);
  x ^= x >> 16;
  x *= 0x7FEB352DU;
  x ^= x >> 15;
  sleep_a_while(x & 15U);
}

}  // namespace mla::hip

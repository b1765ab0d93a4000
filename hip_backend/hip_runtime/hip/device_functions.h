// The device's side of hip_runtime.h: indices, barriers, shuffles and the functions of mathematics
// that the compiler expands itself. expf and logf are the compiler's, not those of ROCm's library.
#pragma once

// threadIdx.x and its like: members that read a register of the wave.
#define MLA_INDEX(type, read_x, read_y, read_z)   \
  struct type {                                   \
    struct X {                                    \
      __device__ operator std::uint32_t() const { \
        return read_x;                            \
      }                                           \
    };                                            \
    struct Y {                                    \
      __device__ operator std::uint32_t() const { \
        return read_y;                            \
      }                                           \
    };                                            \
    struct Z {                                    \
      __device__ operator std::uint32_t() const { \
        return read_z;                            \
      }                                           \
    };                                            \
    [[no_unique_address]] X x;                    \
    [[no_unique_address]] Y y;                    \
    [[no_unique_address]] Z z;                    \
  }
namespace mla_hip {
#define MLA_GROUPS(axis) \
  (__builtin_amdgcn_grid_size_##axis() / __builtin_amdgcn_workgroup_size_##axis())
MLA_INDEX(Thread, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
          __builtin_amdgcn_workitem_id_z());
MLA_INDEX(Block, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
          __builtin_amdgcn_workgroup_id_z());
MLA_INDEX(BlockSize, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
          __builtin_amdgcn_workgroup_size_z());
MLA_INDEX(GridSize, MLA_GROUPS(x), MLA_GROUPS(y), MLA_GROUPS(z));
#undef MLA_GROUPS
#undef MLA_INDEX

__device__ inline int lane() {
  return __builtin_amdgcn_mbcnt_hi(~0U, __builtin_amdgcn_mbcnt_lo(~0U, 0));
}
// `value` as lane `from` has it.
template <class T>
__device__ inline T from_lane(T value, int from) {
  constexpr int count = (sizeof(T) + 3) / 4;
  int words[count] = {};
  __builtin_memcpy(words, &value, sizeof(T));
  for (int& word : words) word = __builtin_amdgcn_ds_bpermute(4 * from, word);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}
}  // namespace mla_hip

extern const __device__ __attribute__((weak)) mla_hip::Thread threadIdx;
extern const __device__ __attribute__((weak)) mla_hip::Block blockIdx;
extern const __device__ __attribute__((weak)) mla_hip::BlockSize blockDim;
extern const __device__ __attribute__((weak)) mla_hip::GridSize gridDim;

__device__ inline void __threadfence() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}
__device__ inline void __threadfence_system() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
}
__device__ inline void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Lanes in groups of `width`, a power of two; what lies outside the group is the lane's own.
template <class T>
__device__ inline T __shfl(T value, int from, int width = 64) {
  const int self = mla_hip::lane();
  return mla_hip::from_lane(value, (from & (width - 1)) + (self & ~(width - 1)));
}
template <class T>
__device__ inline T __shfl_xor(T value, int mask, int width = 64) {
  const int self = mla_hip::lane(), from = self ^ mask;
  const bool inside = from < ((self + width) & ~(width - 1));
  return mla_hip::from_lane(value, inside ? from : self);
}
template <class T>
__device__ inline T __shfl_up(T value, unsigned distance, int width = 64) {
  const int self = mla_hip::lane(), from = self - static_cast<int>(distance);
  return mla_hip::from_lane(value, from < (self & ~(width - 1)) ? self : from);
}
template <class T>
__device__ inline T __shfl_down(T value, unsigned distance, int width = 64) {
  const int self = mla_hip::lane(), step = static_cast<int>(distance);
  const bool inside = (self & (width - 1)) + step < width;
  return mla_hip::from_lane(value, inside ? self + step : self);
}

__device__ inline std::uint64_t __ballot(int condition) {
  return __builtin_amdgcn_ballot_w64(condition != 0);
}
__device__ inline int __any(int condition) {
  return __ballot(condition) != 0;
}
__device__ inline int __all(int condition) {
  return __ballot(condition == 0) == 0;
}

// Atomic operations of the whole device, in no order; each gives back what was there before.
#define MLA_ATOMIC(name, builtin)                                          \
  template <class T>                                                       \
  __device__ inline T name(T* to, T value) {                               \
    return builtin(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); \
  }
MLA_ATOMIC(atomicAdd, __hip_atomic_fetch_add)
MLA_ATOMIC(atomicMin, __hip_atomic_fetch_min)
MLA_ATOMIC(atomicMax, __hip_atomic_fetch_max)
MLA_ATOMIC(atomicAnd, __hip_atomic_fetch_and)
MLA_ATOMIC(atomicOr, __hip_atomic_fetch_or)
MLA_ATOMIC(atomicXor, __hip_atomic_fetch_xor)
MLA_ATOMIC(atomicExch, __hip_atomic_exchange)
#undef MLA_ATOMIC
template <class T>
__device__ inline T atomicCAS(T* to, T expected, T value) {
  __hip_atomic_compare_exchange_strong(to, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_AGENT);
  return expected;
}

template <class A, class B, class C = decltype(A{} + B{})>
__host__ __device__ constexpr C min(A a, B b) {
  return static_cast<C>(b) < static_cast<C>(a) ? static_cast<C>(b) : static_cast<C>(a);
}
template <class A, class B, class C = decltype(A{} + B{})>
__host__ __device__ constexpr C max(A a, B b) {
  return static_cast<C>(a) < static_cast<C>(b) ? static_cast<C>(b) : static_cast<C>(a);
}
__device__ inline int __clz(int value) {
  return value == 0 ? 32 : __builtin_clz(static_cast<unsigned>(value));
}
__device__ inline int __popc(unsigned value) {
  return __builtin_popcount(value);
}
__device__ inline int __popcll(std::uint64_t value) {
  return __builtin_popcountll(value);
}
__device__ inline int __ffs(int value) {
  return __builtin_ffs(value);
}
__device__ inline float sqrtf(float x) {
  return __builtin_sqrtf(x);
}
__device__ inline float rsqrtf(float x) {
  return __builtin_amdgcn_rsqf(x);
}
__device__ inline float fabsf(float x) {
  return __builtin_fabsf(x);
}
__device__ inline float expf(float x) {
  return __builtin_expf(x);
}
__device__ inline float logf(float x) {
  return __builtin_logf(x);
}
__device__ inline float exp2f(float x) {
  return __builtin_exp2f(x);
}
__device__ inline float log2f(float x) {
  return __builtin_log2f(x);
}
__device__ inline float __expf(float x) {
  return __builtin_expf(x);
}
__device__ inline float __logf(float x) {
  return __builtin_logf(x);
}

// The lanes of a wave: shuffles, votes, barriers, fences and clocks.
#pragma once

#include "index.h"

namespace mla_hip {

using Mask = unsigned long long;  // a bit for each lane

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

template <class T>
__device__ inline bool same_bits(const T& a, const T& b) {
  const auto* const of_a = reinterpret_cast<const char*>(&a);
  const auto* const of_b = reinterpret_cast<const char*>(&b);
  bool same = true;
  for (unsigned k = 0; k < sizeof(T); ++k) same = same && of_a[k] == of_b[k];
  return same;
}

}  // namespace mla_hip

__device__ inline void __threadfence() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}
__device__ inline void __threadfence_block() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
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

__device__ inline unsigned __lane_id() {
  return static_cast<unsigned>(mla_hip::lane());
}
__device__ inline mla_hip::Mask __lanemask_lt() {
  return (1ULL << mla_hip::lane()) - 1;
}
__device__ inline mla_hip::Mask __lanemask_gt() {
  return ~1ULL << mla_hip::lane();
}
__device__ inline mla_hip::Mask __lanemask_eq() {
  return 1ULL << mla_hip::lane();
}
__device__ inline mla_hip::Mask __ballot(int condition) {
  return __builtin_amdgcn_ballot_w64(condition != 0);
}
__device__ inline mla_hip::Mask __ballot64(int condition) {
  return __ballot(condition);
}
__device__ inline mla_hip::Mask __activemask() {
  return __builtin_amdgcn_ballot_w64(true);
}
__device__ inline int __any(int condition) {
  return __ballot(condition) != 0;
}
__device__ inline int __all(int condition) {
  return __ballot(condition == 0) == 0;
}

// The lanes of `mask` meet. They are active at the same time: a wave has one program counter.
#define MLA_MASK(mask)                                                \
  static_assert(sizeof(mask) == 8, "the mask of a wave has 64 bits"); \
  __builtin_amdgcn_wave_barrier()
template <class M>
__device__ inline mla_hip::Mask __ballot_sync(M mask, int condition) {
  MLA_MASK(mask);
  return __ballot(condition) & mask;
}
template <class M>
__device__ inline int __any_sync(M mask, int condition) {
  return __ballot_sync(mask, condition) != 0;
}
template <class M>
__device__ inline int __all_sync(M mask, int condition) {
  return __ballot_sync(mask, condition == 0) == 0;
}
template <class M, class T>
__device__ inline T __shfl_sync(M mask, T value, int from, int width = 64) {
  MLA_MASK(mask);
  return __shfl(value, from, width);
}
template <class M, class T>
__device__ inline T __shfl_xor_sync(M mask, T value, int lanes, int width = 64) {
  MLA_MASK(mask);
  return __shfl_xor(value, lanes, width);
}
template <class M, class T>
__device__ inline T __shfl_up_sync(M mask, T value, unsigned distance, int width = 64) {
  MLA_MASK(mask);
  return __shfl_up(value, distance, width);
}
template <class M, class T>
__device__ inline T __shfl_down_sync(M mask, T value, unsigned distance, int width = 64) {
  MLA_MASK(mask);
  return __shfl_down(value, distance, width);
}
#undef MLA_MASK
// The active lanes that have the same bits.
template <class T>
__device__ inline mla_hip::Mask __match_any(T value) {
  mla_hip::Mask open = __activemask(), same = 0;
  const mla_hip::Mask self = __lanemask_eq();
  while (open != 0) {
    const int first = __builtin_ctzll(open);
    const T other = mla_hip::from_lane(value, first);
    const mla_hip::Mask alike = __ballot(mla_hip::same_bits(other, value)) & open;
    if ((alike & self) != 0) same = alike;
    open &= ~alike;
  }
  return same;
}
template <class T>
__device__ inline mla_hip::Mask __match_all(T value, int* all) {
  const mla_hip::Mask active = __activemask();
  *all = __match_any(value) == active;
  return *all != 0 ? active : 0;
}
template <class M, class T>
__device__ inline mla_hip::Mask __match_any_sync(M mask, T value) {
  return __match_any(value) & mask;
}
template <class M, class T>
__device__ inline mla_hip::Mask __match_all_sync(M mask, T value, int* all) {
  const mla_hip::Mask same = __match_any(value) & mask;
  *all = same == mask;
  return *all != 0 ? mask : 0;
}
__device__ inline void __syncwarp() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
template <class M>
__device__ inline void __syncwarp(M) {
  __syncwarp();
}

namespace mla_hip {

// The condition's count over the block, in LDS of its own.
__device__ inline int block_count(bool condition) {
  __shared__ int count;
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) count = 0;
  __syncthreads();
  const Mask yes = __ballot(condition);
  if (lane() == __builtin_ctzll(__activemask()))
    __hip_atomic_fetch_add(&count, __builtin_popcountll(yes), __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_WORKGROUP);
  __syncthreads();
  const int out = count;
  __syncthreads();
  return out;
}

}  // namespace mla_hip

__device__ inline int __syncthreads_count(int condition) {
  return mla_hip::block_count(condition != 0);
}
__device__ inline int __syncthreads_or(int condition) {
  return mla_hip::block_count(condition != 0) != 0;
}
__device__ inline int __syncthreads_and(int condition) {
  return mla_hip::block_count(condition == 0) == 0;
}

// Counts of the emulator: instructions of the wave, not time.
__device__ inline long long __clock64() {
  return static_cast<long long>(__builtin_readcyclecounter());
}
__device__ inline long long clock64() {
  return __clock64();
}
__device__ inline long long __clock() {
  return __clock64();
}
extern "C" __device__ inline __attribute__((weak)) clock_t clock() noexcept {
  return __clock64();
}
__device__ inline long long wall_clock64() {
  return static_cast<long long>(__builtin_readsteadycounter());
}

// Cooperative groups: blocks, tiles of a wave, the active lanes of a wave. A grid group is refused
// by name: workgroups of the emulator run one after the other, so that none can wait for another.
#pragma once

#include <hip/hip_runtime.h>

#include <type_traits>

namespace cooperative_groups {

namespace mla {
using mla_hip::Mask;

__device__ inline unsigned thread_in_block() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
__device__ inline unsigned block_size() {
  return blockDim.x * blockDim.y * blockDim.z;
}
}  // namespace mla

class thread_block {
 public:
  __device__ static unsigned thread_rank() { return mla::thread_in_block(); }
  __device__ static unsigned size() { return mla::block_size(); }
  __device__ static unsigned num_threads() { return size(); }
  __device__ static dim3 group_index() { return blockIdx; }
  __device__ static dim3 thread_index() { return threadIdx; }
  __device__ static dim3 group_dim() { return blockDim; }
  __device__ static bool is_valid() { return true; }
  __device__ static void sync() { __syncthreads(); }
};
__device__ inline thread_block this_thread_block() {
  return {};
}

class grid_group {
 public:
  __device__ static bool is_valid() { return false; }
  __device__ static unsigned long long size() {
    return 1ULL * gridDim.x * gridDim.y * gridDim.z * mla::block_size();
  }
  __device__ static unsigned long long thread_rank() {
    const unsigned long long block =
        blockIdx.x + 1ULL * gridDim.x * (blockIdx.y + 1ULL * gridDim.y * blockIdx.z);
    return block * mla::block_size() + mla::thread_in_block();
  }
  template <class T = void>
  __device__ static void sync() {
    static_assert(!std::is_void_v<T>,
                  "grid_group::sync() is not supported: workgroups of the emulated device run one "
                  "after the other");
  }
};
__device__ inline grid_group this_grid() {
  return {};
}

// Some lanes of a wave. Their ranks are in the order of the lanes.
class coalesced_group {
 public:
  __device__ explicit coalesced_group(mla::Mask lanes) : lanes_(lanes) {}
  __device__ unsigned size() const { return static_cast<unsigned>(__builtin_popcountll(lanes_)); }
  __device__ unsigned num_threads() const { return size(); }
  __device__ unsigned thread_rank() const {
    return static_cast<unsigned>(__builtin_popcountll(lanes_ & __lanemask_lt()));
  }
  __device__ void sync() const { __syncwarp(); }
  __device__ bool is_valid() const { return true; }
  template <class T>
  __device__ T shfl(T value, int rank) const {
    return mla_hip::from_lane(value, lane_of(static_cast<unsigned>(rank) % size()));
  }
  template <class T>
  __device__ T shfl_down(T value, unsigned distance) const {
    const unsigned to = thread_rank() + distance;
    return mla_hip::from_lane(value, to < size() ? lane_of(to) : mla_hip::lane());
  }
  template <class T>
  __device__ T shfl_up(T value, unsigned distance) const {
    const unsigned self = thread_rank();
    return mla_hip::from_lane(value, self >= distance ? lane_of(self - distance) : mla_hip::lane());
  }
  template <class T>
  __device__ T shfl_xor(T value, unsigned mask) const {
    const unsigned to = thread_rank() ^ mask;
    return mla_hip::from_lane(value, to < size() ? lane_of(to) : mla_hip::lane());
  }
  // A bit for each rank.
  __device__ mla::Mask ballot(int condition) const {
    const mla::Mask yes = __ballot(condition) & lanes_;
    mla::Mask out = 0, left = lanes_;
    for (unsigned rank = 0; left != 0; ++rank, left &= left - 1)
      out |= (yes >> __builtin_ctzll(left) & 1) << rank;
    return out;
  }
  __device__ int any(int condition) const { return (__ballot(condition) & lanes_) != 0; }
  __device__ int all(int condition) const { return (__ballot(condition == 0) & lanes_) == 0; }
  // A bit for each lane of the wave that belongs to the group.
  __device__ mla::Mask lanes() const { return lanes_; }

 private:
  __device__ int lane_of(unsigned rank) const {
    mla::Mask left = lanes_;
    for (; rank > 0; --rank) left &= left - 1;
    return __builtin_ctzll(left);
  }
  mla::Mask lanes_;
};
__device__ inline coalesced_group coalesced_threads() {
  return coalesced_group(__activemask());
}

// `count` neighbours of a wave.
template <unsigned count, class Parent = void>
class thread_block_tile {
  static_assert(count != 0 && (count & (count - 1)) == 0 && count <= 64,
                "a tile has 1, 2, 4, 8, 16, 32 or 64 threads");

 public:
  thread_block_tile() = default;
  // Of whatever the tile is a part: it is found by the thread alone.
  template <class Other>
  __device__ thread_block_tile(const thread_block_tile<count, Other>&) {}
  __device__ static unsigned thread_rank() { return mla::thread_in_block() % count; }
  __device__ static constexpr unsigned size() { return count; }
  __device__ static constexpr unsigned num_threads() { return count; }
  __device__ static unsigned meta_group_rank() { return mla::thread_in_block() / count; }
  __device__ static unsigned meta_group_size() { return (mla::block_size() + count - 1) / count; }
  __device__ static bool is_valid() { return true; }
  __device__ static void sync() { __syncwarp(); }
  template <class T>
  __device__ static T shfl(T value, int rank) {
    return __shfl(value, rank, count);
  }
  template <class T>
  __device__ static T shfl_down(T value, unsigned distance) {
    return __shfl_down(value, distance, count);
  }
  template <class T>
  __device__ static T shfl_up(T value, unsigned distance) {
    return __shfl_up(value, distance, count);
  }
  template <class T>
  __device__ static T shfl_xor(T value, unsigned mask) {
    return __shfl_xor(value, static_cast<int>(mask), count);
  }
  __device__ static mla::Mask ballot(int condition) {
    const unsigned first = static_cast<unsigned>(mla_hip::lane()) & ~(count - 1);
    return __ballot(condition) >> first & all_ranks();
  }
  __device__ static int any(int condition) { return ballot(condition) != 0; }
  __device__ static int all(int condition) { return ballot(condition == 0) == 0; }
  template <class T>
  __device__ static mla::Mask match_any(T value) {
    const unsigned first = static_cast<unsigned>(mla_hip::lane()) & ~(count - 1);
    return __match_any(value) >> first & all_ranks();
  }
  __device__ static mla::Mask lanes() {
    const unsigned first = static_cast<unsigned>(mla_hip::lane()) & ~(count - 1);
    return all_ranks() << first & __activemask();
  }

 private:
  __device__ static constexpr mla::Mask all_ranks() {
    return count == 64 ? ~0ULL : (1ULL << count) - 1;
  }
};
template <unsigned count, class Group>
__device__ inline thread_block_tile<count, Group> tiled_partition(const Group&) {
  return {};
}

// A tile whose size is known at run time, and the lanes of a group by a label or a condition.
__device__ inline coalesced_group tiled_partition(const thread_block&, unsigned count) {
  const unsigned first = static_cast<unsigned>(mla_hip::lane()) & ~(count - 1);
  const mla::Mask ranks = count >= 64 ? ~0ULL : (1ULL << count) - 1;
  return coalesced_group((ranks << first) & __activemask());
}
// Those of the group for whose condition is the caller's.
template <class Group>
__device__ inline coalesced_group binary_partition(const Group& group, bool condition) {
  const mla::Mask yes = __ballot(condition);
  return coalesced_group((condition ? yes : ~yes) & group.lanes());
}

// Any of the groups above, for functions that take whichever their caller has.
class thread_group {
 public:
  __device__ thread_group(const thread_block& block)
      : size_(block.size()), rank_(block.thread_rank()), whole_block_(1) {}
  __device__ thread_group(const coalesced_group& group)
      : size_(group.size()), rank_(group.thread_rank()) {}
  template <unsigned count, class Parent>
  __device__ thread_group(const thread_block_tile<count, Parent>& tile)
      : size_(count), rank_(tile.thread_rank()) {}
  __device__ unsigned size() const { return size_; }
  __device__ unsigned num_threads() const { return size_; }
  __device__ unsigned thread_rank() const { return rank_; }
  __device__ bool is_valid() const { return true; }
  __device__ void sync() const {
    if (whole_block_ != 0)
      __syncthreads();
    else
      __syncwarp();
  }

 private:
  unsigned size_, rank_;
  unsigned whole_block_ = 0;  // no bool: padding is copied too, and is never written
};

template <class T>
struct plus {
  __device__ T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct less {
  __device__ T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
  __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};
template <unsigned count, class Parent, class T, class Operation>
__device__ inline T reduce(const thread_block_tile<count, Parent>& tile, T value,
                           Operation&& operation) {
  for (unsigned step = count / 2; step > 0; step /= 2)
    value = operation(value, tile.shfl_xor(value, step));
  return value;
}

template <class Group>
__device__ inline auto thread_rank(const Group& group) {
  return group.thread_rank();
}
template <class Group>
__device__ inline void sync(const Group& group) {
  group.sync();
}

}  // namespace cooperative_groups

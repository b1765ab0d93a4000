// A stand-in for the part of hipCUB that AITER's top-k includes: scans, loads, stores and sorts of
// a workgroup. Same interfaces and results, none of hipCUB's code, and none of its speed.
//
// As there: every thread of a workgroup of BLOCK threads (in x) calls; thread t owns the elements
// t * ITEMS to t * ITEMS + ITEMS - 1; storage may be used again after a barrier of the caller's.
#pragma once

#include <hip/hip_runtime.h>

namespace hipcub {

enum BlockLoadAlgorithm { BLOCK_LOAD_DIRECT, BLOCK_LOAD_VECTORIZE, BLOCK_LOAD_TRANSPOSE };
enum BlockStoreAlgorithm { BLOCK_STORE_DIRECT, BLOCK_STORE_VECTORIZE, BLOCK_STORE_TRANSPOSE };

/// Running sums over the threads of a workgroup.
template <typename T, int BLOCK>
class BlockScan {
 public:
  struct TempStorage {
    T sums[2][BLOCK];
  };

  __device__ explicit BlockScan(TempStorage& storage) : storage_(storage) {}

  __device__ void InclusiveSum(T input, T& output) { output = scanned(input); }

  __device__ void ExclusiveSum(T input, T& output) { output = scanned(input) - input; }

  __device__ void ExclusiveSum(T input, T& output, T& aggregate) {
    output = scanned(input) - input;
    aggregate = storage_.sums[last_][BLOCK - 1];
  }

  template <int ITEMS>
  __device__ void InclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS]) {
    T own = 0;
    for (int item = 0; item < ITEMS; ++item) own += input[item];
    T sum = scanned(own) - own;
    for (int item = 0; item < ITEMS; ++item) {
      sum += input[item];
      output[item] = sum;
    }
  }

 private:
  __device__ T scanned(T input) {
    const int thread = static_cast<int>(threadIdx.x);
    int from = 0;
    storage_.sums[from][thread] = input;
    __syncthreads();
    for (int distance = 1; distance < BLOCK; distance *= 2) {
      const T before = thread >= distance ? storage_.sums[from][thread - distance] : T(0);
      storage_.sums[1 - from][thread] = storage_.sums[from][thread] + before;
      from = 1 - from;
      __syncthreads();
    }
    last_ = from;
    return storage_.sums[from][thread];
  }

  TempStorage& storage_;
  int last_ = 0;
};

/// Each thread's elements of memory.
template <typename T, int BLOCK, int ITEMS, BlockLoadAlgorithm ALGORITHM = BLOCK_LOAD_DIRECT>
class BlockLoad {
 public:
  struct TempStorage {};

  __device__ explicit BlockLoad(TempStorage& /*storage*/) {}

  template <typename Iterator>
  __device__ void Load(Iterator from, T (&items)[ITEMS]) {
    for (int item = 0; item < ITEMS; ++item)
      items[item] = from[static_cast<int>(threadIdx.x) * ITEMS + item];
  }
};

/// Memory from each thread's elements.
template <typename T, int BLOCK, int ITEMS, BlockStoreAlgorithm ALGORITHM = BLOCK_STORE_DIRECT>
class BlockStore {
 public:
  struct TempStorage {};

  __device__ explicit BlockStore(TempStorage& /*storage*/) {}

  template <typename Iterator>
  __device__ void Store(Iterator into, T (&items)[ITEMS]) {
    for (int item = 0; item < ITEMS; ++item)
      into[static_cast<int>(threadIdx.x) * ITEMS + item] = items[item];
  }
};

/// Sorts the keys of a workgroup, the smallest first: a bitonic network in LDS.
template <typename Key, int BLOCK, int ITEMS>
class BlockRadixSort {
  static constexpr int KEYS = BLOCK * ITEMS;
  static_assert((KEYS & (KEYS - 1)) == 0, "as many keys as a power of two");

 public:
  struct TempStorage {
    Key keys[KEYS];
  };

  __device__ explicit BlockRadixSort(TempStorage& storage) : storage_(storage) {}

  __device__ void Sort(Key (&keys)[ITEMS]) {
    const int first = static_cast<int>(threadIdx.x) * ITEMS;
    for (int item = 0; item < ITEMS; ++item) storage_.keys[first + item] = keys[item];
    __syncthreads();
    for (int run = 2; run <= KEYS; run *= 2)
      for (int distance = run / 2; distance > 0; distance /= 2) {
        for (int item = 0; item < ITEMS; ++item) exchange(first + item, run, distance);
        __syncthreads();
      }
    for (int item = 0; item < ITEMS; ++item) keys[item] = storage_.keys[first + item];
  }

 private:
  // Two keys of a step belong to one thread only, the one of the smaller place.
  __device__ void exchange(int place, int run, int distance) {
    const int other = place ^ distance;
    if (other <= place) return;
    const Key a = storage_.keys[place];
    const Key b = storage_.keys[other];
    const bool ascending = (place & run) == 0;
    if ((a > b) != ascending) return;
    storage_.keys[place] = b;
    storage_.keys[other] = a;
  }

  TempStorage& storage_;
};

}  // namespace hipcub

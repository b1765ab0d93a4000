// The stand-in for hipCUB: scans, loads, stores and sorts of a workgroup.
#include <hip/hip_runtime.h>
#include <hipcub/hipcub.hpp>
#include <rocprim/rocprim.hpp>  // empty, for sources of AITER that include it

#include "language.hpp"

namespace hip_language {
namespace {

constexpr int kThreads = 256, kItems = 2, kKeys = kThreads * kItems;

enum Part { inclusive, exclusive, sum_of_all, of_items, sorted, parts };
const char* const names[] = {"InclusiveSum", "ExclusiveSum", "the sum of all",
                             "InclusiveSum of several elements", "Sort"};
static_assert(sizeof names / sizeof *names == parts);

// An order of keys without a pattern, each once; some equal below `same`.
__host__ __device__ int key_of(int place, int same) {
  return (place * 197 + 31) % kKeys / same;
}

__global__ void hipcub_kernel(unsigned* wrong, int* memory, int same) {
  const auto expect = [wrong](int part, bool right) {
    if (!right) atomicOr(&wrong[part], 1U);
  };
  using Scan = hipcub::BlockScan<int, kThreads>;
  using Sort = hipcub::BlockRadixSort<int, kThreads, kItems>;
  using Load = hipcub::BlockLoad<int, kThreads, kItems, hipcub::BLOCK_LOAD_TRANSPOSE>;
  using Store = hipcub::BlockStore<int, kThreads, kItems, hipcub::BLOCK_STORE_TRANSPOSE>;
  __shared__ union {
    typename Scan::TempStorage scan;
    typename Sort::TempStorage sort;
    typename Load::TempStorage load;
    typename Store::TempStorage store;
  } storage;
  const int self = static_cast<int>(threadIdx.x);

  int sum = 0;
  int all = 0;
  Scan(storage.scan).InclusiveSum(self + 1, sum);
  expect(inclusive, sum == (self + 1) * (self + 2) / 2);
  __syncthreads();
  Scan(storage.scan).ExclusiveSum(self % 3, sum, all);
  expect(exclusive, sum == self / 3 * 3 + (self % 3 == 2 ? 1 : 0));
  expect(sum_of_all, all == 255);
  __syncthreads();

  int items[kItems];
  for (int item = 0; item < kItems; ++item) items[item] = self * kItems + item;
  Scan(storage.scan).InclusiveSum(items, items);
  for (int item = 0; item < kItems; ++item) {
    const int place = self * kItems + item;
    expect(of_items, items[item] == place * (place + 1) / 2);
  }
  __syncthreads();

  Load(storage.load).Load(memory, items);
  Sort(storage.sort).Sort(items);
  for (int item = 0; item < kItems; ++item)
    expect(sorted, items[item] == (self * kItems + item) / same);
  __syncthreads();
  Store(storage.store).Store(memory, items);
}

// The names of what is wrong for keys of which `same` are equal.
void run(int same, std::vector<std::string>& out) {
  unsigned* wrong = nullptr;
  int* memory = nullptr;
  (void)hipMallocManaged(&wrong, parts * sizeof(unsigned));
  (void)hipMallocManaged(&memory, kKeys * sizeof(int));
  (void)hipMemset(wrong, 0, parts * sizeof(unsigned));
  for (int place = 0; place < kKeys; ++place) memory[place] = key_of(place, same);
  hipcub_kernel<<<1, kThreads>>>(wrong, memory, same);
  if (hipDeviceSynchronize() != hipSuccess) out.push_back("a launch failed");
  for (int part = 0; part < parts; ++part)
    if (wrong[part] != 0) out.push_back(names[part]);
  for (int place = 0; place < kKeys; ++place)
    if (memory[place] != place / same) {
      out.push_back("Load or Store");
      break;
    }
  (void)hipFree(wrong);
  (void)hipFree(memory);
}

}  // namespace

std::vector<std::string> wrong_hipcub() {
  std::vector<std::string> out;
  for (const int same : {1, 4}) run(same, out);
  return out;
}

}  // namespace hip_language

#include "hand_over.hpp"

#include <hip/hip_runtime.h>

namespace hip_program {
namespace {

// A kernel for each: in one for all, the loads are volatile for all.
template <Fences fences>
__global__ void sum_kernel(const std::int32_t* numbers, std::int32_t* parts, unsigned* arrived,
                           std::int32_t* out) {
  __shared__ std::int32_t sum;
  __shared__ bool last;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, numbers[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = sum;
    if (fences != Fences::only_after) __threadfence();
    last = atomicAdd(arrived, 1U) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  if (fences == Fences::both || fences == Fences::only_after) __threadfence();
  std::int32_t total = 0;
  for (unsigned block = 0; block < gridDim.x; ++block) {
    if constexpr (fences == Fences::before_and_volatile)
      total += const_cast<const volatile std::int32_t*>(parts)[block];
    else
      total += parts[block];
  }
  *out = total;
}

__global__ void flag_kernel(std::int32_t* words, std::int32_t number, bool released,
                            bool acquired) {
  std::int32_t *data = words, *flag = words + 64, *out = words + 128;
  if (blockIdx.x == 0) {
    *data = number;
    if (released)
      __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    else
      __hip_atomic_store(flag, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    return;
  }
  while (__hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0) {
  }
  if (acquired) __threadfence();
  *out = *data;
}

}  // namespace

std::int32_t sum_by_the_last_block(const std::vector<std::int32_t>& numbers, Fences fences) {
  constexpr unsigned threads = 128;
  const auto blocks = static_cast<unsigned>(numbers.size() / threads);
  std::int32_t *in = nullptr, *parts = nullptr, *out = nullptr;
  unsigned* arrived = nullptr;
  (void)hipMalloc(&in, numbers.size() * sizeof *in);
  (void)hipMalloc(&parts, blocks * sizeof *parts);
  (void)hipMalloc(&arrived, sizeof *arrived);
  (void)hipMalloc(&out, sizeof *out);
  (void)hipMemcpy(in, numbers.data(), numbers.size() * sizeof *in, hipMemcpyHostToDevice);
  (void)hipMemset(arrived, 0, sizeof *arrived);
  const auto kernel = fences == Fences::both          ? sum_kernel<Fences::both>
                      : fences == Fences::only_before ? sum_kernel<Fences::only_before>
                      : fences == Fences::only_after  ? sum_kernel<Fences::only_after>
                                                      : sum_kernel<Fences::before_and_volatile>;
  kernel<<<blocks, threads>>>(in, parts, arrived, out);
  std::int32_t total = 0;
  (void)hipMemcpy(&total, out, sizeof total, hipMemcpyDeviceToHost);
  for (void* const memory : {static_cast<void*>(in), static_cast<void*>(parts),
                             static_cast<void*>(arrived), static_cast<void*>(out)})
    (void)hipFree(memory);
  return total;
}

std::int32_t told_by_a_flag(std::int32_t number, bool released, bool acquired) {
  std::int32_t* words = nullptr;
  (void)hipMalloc(&words, 192 * sizeof *words);
  (void)hipMemset(words, 0, 192 * sizeof *words);
  flag_kernel<<<2, 1>>>(words, number, released, acquired);
  std::int32_t told = 0;
  (void)hipMemcpy(&told, words + 128, sizeof told, hipMemcpyDeviceToHost);
  (void)hipFree(words);
  return told;
}

}  // namespace hip_program

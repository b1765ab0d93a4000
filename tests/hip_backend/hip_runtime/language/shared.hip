// What host and kernels share beside arguments: managed variables, clocks, events around a launch.
#include <hip/hip_bf16.h>
#include <hip/hip_ext.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include <ctime>

#include "language.hpp"

namespace hip_language {
namespace {

__managed__ int counter = 7;
__managed__ double table[4] = {1, 2, 3, 4};
__managed__ int plain[3];

__global__ void change_kernel(int by) {
  atomicAdd(&counter, by);
  if (threadIdx.x < 4) table[threadIdx.x] *= 2;
  if (threadIdx.x < 3) plain[threadIdx.x] += 1;
}
__global__ void clock_kernel(long long* out) {
  const clock_t before = clock();
  const long long before64 = clock64();
  __syncthreads();
  const clock_t after = clock();
  out[0] = after >= before && after > 0 && __clock64() >= before64;
}
__global__ void scale_kernel(float* out, float by, int count) {
  const int k = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (k < count) out[k] = by * static_cast<float>(k);
}

__global__ void pairs_kernel(__half2* half, __hip_bfloat162* brain, const float* numbers) {
  unsafeAtomicAdd(half, __floats2half2_rn(1, __ldg(numbers)));
  unsafeAtomicAdd(brain, __floats2bfloat162_rn(2, __ldg(numbers + 1)));
}

void pairs(std::vector<std::string>& wrong) {
  __half2* half = nullptr;
  __hip_bfloat162* brain = nullptr;
  float* numbers = nullptr;
  (void)hipMallocManaged(&half, sizeof *half);
  (void)hipMallocManaged(&brain, sizeof *brain);
  (void)hipMallocManaged(&numbers, 2 * sizeof *numbers);
  *half = __floats2half2_rn(0.5F, 0);
  *brain = __floats2bfloat162_rn(0, -1);
  numbers[0] = 0.25F, numbers[1] = 3;
  pairs_kernel<<<1, 64>>>(half, brain, numbers);
  if (__low2float(*half) != 64.5F || __high2float(*half) != 16)
    wrong.push_back("unsafeAtomicAdd of __half2, or __ldg");
  if (__low2float(*brain) != 128 || __high2float(*brain) != 191)
    wrong.push_back("unsafeAtomicAdd of __hip_bfloat162, or __ldg");
  for (void* const pointer :
       {static_cast<void*>(half), static_cast<void*>(brain), static_cast<void*>(numbers)})
    (void)hipFree(pointer);
}

void occupancy(std::vector<std::string>& wrong) {
  int grid = 0, block = 0, units = 0;
  (void)hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, 0);
  // Blocks of more than 64 threads ask for more than there is.
  const auto wide = [](int size) { return size > 64 ? 1 << 20 : 64 << 10; };
  if (hipOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, scale_kernel, wide) !=
          hipSuccess ||
      block != 64 || grid % units != 0 || grid == 0)
    wrong.push_back("hipOccupancyMaxPotentialBlockSizeVariableSMem");
  int plain_grid = 0, plain_block = 0;
  (void)hipOccupancyMaxPotentialBlockSize(&plain_grid, &plain_block, scale_kernel);
  if (hipOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, scale_kernel) != hipSuccess ||
      block != plain_block || grid != plain_grid || block == 0)
    wrong.push_back("hipOccupancyMaxPotentialBlockSizeWithFlags");
}

void managed(std::vector<std::string>& wrong) {
  const int counted = counter;
  table[1] = 10;
  change_kernel<<<1, 64>>>(2);
  (void)hipDeviceSynchronize();
  if (counter != counted + 128) wrong.push_back("a managed number that a kernel changed");
  if (table[0] != 2 || table[1] != 20 || table[3] != 8) wrong.push_back("a managed table");
  if (plain[2] != 1) wrong.push_back("a managed variable without a value");
  for (double& value : table) value /= 2;
  table[1] = 2;
  plain[2] = 0;
  hipPointerAttribute_t attributes{};
  (void)hipPointerGetAttributes(&attributes, &counter);
  if (attributes.isManaged != 1) wrong.push_back("a managed variable's attributes");
  if (hipFree(&counter) != hipErrorInvalidValue) wrong.push_back("hipFree of a managed variable");
  int zero = 0, seen = -1;
  void* address = nullptr;
  std::size_t bytes = 0;
  (void)hipMemcpyToSymbol(HIP_SYMBOL(counter), &zero, sizeof zero);
  (void)hipMemcpyFromSymbol(&seen, HIP_SYMBOL(counter), sizeof seen);
  (void)hipGetSymbolAddress(&address, HIP_SYMBOL(table));
  (void)hipGetSymbolSize(&bytes, HIP_SYMBOL(table));
  if (counter != 0 || seen != 0 || address != table || bytes != sizeof table)
    wrong.push_back("a managed variable as a symbol");
  (void)hipGetLastError();
}

void launches(std::vector<std::string>& wrong) {
  float* out = nullptr;
  hipEvent_t before = nullptr, after = nullptr;
  (void)hipEventCreate(&before);
  (void)hipEventCreate(&after);
  (void)hipMallocManaged(&out, 128 * sizeof *out);
  hipExtLaunchKernelGGL(scale_kernel, dim3(2), dim3(64), 0, nullptr, before, after, 0, out, 2, 128);
  float milliseconds = -1;
  (void)hipEventElapsedTime(&milliseconds, before, after);
  if (out[127] != 254 || milliseconds <= 0) wrong.push_back("hipExtLaunchKernelGGL");
  float by = 3;
  int count = 128;
  void* arguments[] = {&out, &by, &count};
  hipEvent_t first = nullptr, last = nullptr;
  (void)hipEventCreate(&first);
  (void)hipEventCreate(&last);
  if (hipExtLaunchKernel(scale_kernel, dim3(2), dim3(64), arguments, 0, nullptr, first, last, 0) !=
          hipSuccess ||
      out[127] != 381 || hipEventElapsedTime(&milliseconds, first, last) != hipSuccess ||
      milliseconds <= 0)
    wrong.push_back("hipExtLaunchKernel");
  hipFunction_t function = nullptr;
  by = 4;
  (void)hipGetFuncBySymbol(&function, reinterpret_cast<const void*>(scale_kernel));
  // A grid of threads.
  if (hipExtModuleLaunchKernel(function, 128, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr,
                               before, after) != hipSuccess ||
      out[127] != 508)
    wrong.push_back("hipExtModuleLaunchKernel");
  if (hipExtModuleLaunchKernel(function, 100, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr) !=
      hipErrorInvalidConfiguration)
    wrong.push_back("a grid of threads that is no multiple of the block");
  hipLaunchConfig_t config = {};
  config.gridDim = 2, config.blockDim = 64;
  hipLaunchAttribute together = {};
  together.id = hipLaunchAttributeCooperative;
  together.val.cooperative = 1;
  config.attrs = &together, config.numAttrs = 1;
  by = 5;
  const auto* const kernel = reinterpret_cast<const void*>(scale_kernel);
  if (hipLaunchKernelExC(&config, kernel, arguments) != hipSuccess || out[127] != 635)
    wrong.push_back("hipLaunchKernelExC");
  config.gridDim = 1 << 20;
  if (hipLaunchKernelExC(&config, kernel, arguments) != hipErrorCooperativeLaunchTooLarge)
    wrong.push_back("a grid of hipLaunchKernelExC that does not fit");
  together.id = static_cast<hipLaunchAttributeID>(77);
  if (hipLaunchKernelExC(&config, kernel, arguments) != hipErrorNotSupported)
    wrong.push_back("an unknown attribute of hipLaunchKernelExC");
  if (hipLaunchKernel(kernel, 1, 1, nullptr, 0, nullptr) != hipErrorInvalidValue)
    wrong.push_back("a launch without its arguments");
  (void)hipGetLastError();
  (void)hipFree(out);
  (void)hipEventDestroy(first);
  (void)hipEventDestroy(last);
  (void)hipEventDestroy(before);
  (void)hipEventDestroy(after);
}

}  // namespace

std::vector<std::string> wrong_shared() {
  std::vector<std::string> wrong;
  managed(wrong);
  launches(wrong);
  pairs(wrong);
  occupancy(wrong);
  long long* ticks = nullptr;
  (void)hipMallocManaged(&ticks, sizeof *ticks);
  clock_kernel<<<1, 64>>>(ticks);
  if (*ticks != 1) wrong.push_back("clock");
  (void)hipFree(ticks);
  if (clock() == static_cast<clock_t>(-1)) wrong.push_back("the host's clock");
  return wrong;
}

}  // namespace hip_language

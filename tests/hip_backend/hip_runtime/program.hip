// Asked before anything is included, as many programs do.
#ifdef __HIP_PLATFORM_AMD__
constexpr bool known_platform = true;
#else
constexpr bool known_platform = false;
#endif
#ifndef __HIP__
#error "clang -x hip defines __HIP__"
#endif
// What libraries of ROCm include in place of the public header.
#include <hip/amd_detail/amd_hip_runtime.h>

#include "program.hpp"
#ifndef __HIPCC__
#error "hip_runtime.h defines __HIPCC__"
#endif

// 160 values that are alive at once, under bounds as HIP means them.
__device__ inline void reverse(float* numbers) {
  float alive[160];
  for (int i = 0; i < 160; ++i) alive[i] = numbers[i * 64 + threadIdx.x];
  __syncthreads();
  for (int i = 0; i < 160; ++i) numbers[i * 64 + threadIdx.x] = alive[159 - i];
}
extern "C" __global__ void __launch_bounds__(64) one_bound_kernel(float* numbers) {
  reverse(numbers);
}
// What a test loads as a module.
extern "C" __device__ std::int32_t module_offset = 5;
extern "C" __device__ std::int32_t module_blocks = 0;
// It reads the size of the grid, so that it has hidden arguments.
extern "C" __global__ void count_blocks_kernel() {
  module_blocks = gridDim.x;
}
extern "C" __global__ void module_kernel(std::int32_t* out, std::int32_t factor) {
  out[threadIdx.x] = factor * static_cast<std::int32_t>(threadIdx.x) + module_offset;
}
// Half of the waves end, and half meet at a barrier.
extern "C" __global__ void barrier_for_half_kernel(std::int32_t* out) {
  if (threadIdx.x >= 64) return;
  __syncthreads();
  out[threadIdx.x] = static_cast<std::int32_t>(threadIdx.x);
}
extern "C" __global__ void __launch_bounds__(64, 8) two_bounds_kernel(float* numbers) {
  reverse(numbers);
}

namespace hip_program {
namespace {

struct Scaling {
  std::int32_t offset;
  char apart;
  const std::int32_t* a;
};

// A struct with padding between scalars: the order and place of arguments.
__global__ void multiply_add_kernel(std::int32_t* out, Scaling scaling, const std::int32_t* b,
                                    std::int32_t count) {
  const auto i = static_cast<std::int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = scaling.a[i] * b[i] + i + scaling.offset;
}

__global__ void copy_kernel(const std::int32_t* from, std::int32_t* to) {
  to[threadIdx.x] = from[threadIdx.x];
}

__global__ void block_sums_kernel(std::int32_t* out, const std::int32_t* numbers) {
  HIP_DYNAMIC_SHARED(std::int32_t, of_waves)
  std::int32_t sum = numbers[blockIdx.x * blockDim.x + threadIdx.x];
  for (int step = 32; step > 0; step /= 2) sum += __shfl_xor(sum, step);
  if (threadIdx.x % 64 == 0) of_waves[threadIdx.x / 64] = sum;
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = of_waves[0] + of_waves[1];
}

__global__ void shuffled_kernel(std::int32_t* out) {
  const auto lane = static_cast<std::int32_t>(threadIdx.x);
  out[lane] = __shfl_xor(lane, 1, 16);
  out[64 + lane] = __shfl_up(lane, 2, 16);
  out[128 + lane] = __shfl_down(lane, 3, 16);
  out[192 + lane] = __shfl(lane, 5, 16);
  out[256 + lane] = __shfl_xor(lane, 16, 16);
}

__global__ void indices_kernel(std::int32_t* out) {
  const std::uint32_t block = blockIdx.x + gridDim.x * blockIdx.y;
  const std::uint32_t thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = static_cast<std::int32_t>(
      10000 * blockIdx.x + 1000 * blockIdx.y + 100 * threadIdx.x + 10 * threadIdx.y + threadIdx.z);
}

__global__ void count_kernel(std::int32_t* out, const std::int32_t* numbers, int count) {
  const auto i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const std::int32_t number = i < count ? numbers[i] : 0;
  const int odd = __popcll(__ballot(number % 2 != 0));
  if (threadIdx.x % 64 == 0) atomicAdd(&out[9], odd);
  if (i >= count) return;
  atomicAdd(&out[number % 8], 1);
  atomicMax(&out[8], number);
  if (i == count - 1 && atomicCAS(&out[10], 0, number) == 0) atomicCAS(&out[10], number, 1);
}

__global__ void platform_kernel(std::int32_t* out) {
  if (known_platform) *out = 1;
}

__global__ void spin_kernel(std::int32_t* flag) {
  if (blockIdx.x < 2) return;
  while (__hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0) {
  }
}

__constant__ std::int32_t step_of_all;
__device__ std::int32_t counters[8] = {7, 7, 7, 7, 7, 7, 7, 7};

__global__ void step_kernel() {
  counters[threadIdx.x] += step_of_all * static_cast<std::int32_t>(threadIdx.x);
}

__global__ void past_the_end_kernel(std::int32_t* out, int count) {
  out[count] = 1;
}

class Words {
 public:
  explicit Words(std::size_t count) : count_(count) { (void)hipMalloc(&words_, bytes()); }
  explicit Words(const std::vector<std::int32_t>& from) : Words(from.size()) {
    (void)hipMemcpy(words_, from.data(), bytes(), hipMemcpyHostToDevice);
  }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  ~Words() { (void)hipFree(words_); }
  operator std::int32_t*() const { return words_; }
  std::vector<std::int32_t> read() const {
    std::vector<std::int32_t> out(count_);
    (void)hipMemcpy(out.data(), words_, bytes(), hipMemcpyDeviceToHost);
    return out;
  }

 private:
  std::size_t bytes() const { return count_ * sizeof(std::int32_t); }
  std::size_t count_;
  std::int32_t* words_ = nullptr;
};

}  // namespace

std::vector<std::int32_t> multiply_add(const std::vector<std::int32_t>& a,
                                       const std::vector<std::int32_t>& b, unsigned block) {
  const Words in_a(a), in_b(b), out(a.size());
  const auto count = static_cast<std::int32_t>(a.size());
  multiply_add_kernel<<<(count + block - 1) / block, block>>>(out, Scaling{0, 'x', in_a}, in_b,
                                                              count);
  return out.read();
}

std::vector<std::int32_t> block_sums(const std::vector<std::int32_t>& numbers) {
  const Words in(numbers), out(numbers.size() / 128);
  block_sums_kernel<<<numbers.size() / 128, 128, 2 * sizeof(std::int32_t)>>>(out, in);
  return out.read();
}

std::vector<std::int32_t> shuffled() {
  const Words out(320);
  shuffled_kernel<<<1, 64>>>(out);
  return out.read();
}

std::vector<std::int32_t> indices() {
  const Words out(96);
  indices_kernel<<<dim3(2, 3), dim3(4, 2, 2)>>>(out);
  return out.read();
}

std::vector<std::int32_t> counted(const std::vector<std::int32_t>& numbers) {
  const Words in(numbers), out(11);
  (void)hipMemset(out, 0, 44);
#define AT_ONCE 0, nullptr  // LDS and stream in one macro
  hipLaunchKernelGGL(HIP_KERNEL_NAME(count_kernel), dim3((numbers.size() + 127) / 128), dim3(128),
                     AT_ONCE, out, in, static_cast<int>(numbers.size()));
  return out.read();
}

std::vector<std::int32_t> stepped(std::int32_t step) {
  (void)hipMemcpyToSymbol(HIP_SYMBOL(step_of_all), &step, sizeof step);
  const std::int32_t last = 100;
  (void)hipMemcpyToSymbol(HIP_SYMBOL(counters), &last, sizeof last, 28);
  step_kernel<<<1, 8>>>();
  std::vector<std::int32_t> out(8);
  (void)hipMemcpyFromSymbol(out.data(), HIP_SYMBOL(counters), 32);
  void* address = nullptr;
  std::int32_t again = 0;
  (void)hipGetSymbolAddress(&address, HIP_SYMBOL(counters));
  (void)hipMemcpy(&again, address, sizeof again, hipMemcpyDeviceToHost);
  out.push_back(again);
  return out;
}

void spin() {
  const Words flag(std::vector<std::int32_t>{0});
  spin_kernel<<<3, 64>>>(flag);
}
bool platform_on_host() {
  return known_platform;
}
bool platform_on_device() {
  const Words out(std::vector<std::int32_t>{0});
  platform_kernel<<<1, 1, 0, hipStreamDefault>>>(out);
  return out.read()[0] == 1;
}
std::size_t variable_size() {
  std::size_t bytes = 0;
  (void)hipGetSymbolSize(&bytes, HIP_SYMBOL(counters));
  return bytes;
}
hipError_t size_of_a_stranger() {
  const int stranger = 0;
  std::size_t bytes = 0;
  return hipGetSymbolSize(&bytes, stranger);
}
hipError_t launch_no_blocks() {
  step_kernel<<<0, 64>>>();
  return hipGetLastError();
}
int blocks_on_a_unit(std::size_t dynamic_lds) {
  int blocks = -1;
  (void)hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, step_kernel, 256, dynamic_lds);
  return blocks;
}
std::vector<char> through_pitched_memory(const std::vector<char>& rows) {
  char* pitched = nullptr;
  std::size_t pitch = 0;
  std::vector<char> out(rows.size());
  (void)hipMallocPitch(&pitched, &pitch, 3, rows.size() / 3);
  (void)hipMemcpy2D(pitched, pitch, rows.data(), 3, 3, rows.size() / 3, hipMemcpyHostToDevice);
  (void)hipMemcpy2D(out.data(), 3, pitched, pitch, 3, rows.size() / 3, hipMemcpyDeviceToHost);
  (void)hipFree(pitched);
  return pitch == 256 ? out : std::vector<char>{};
}

std::vector<hipError_t> strange_symbols() {
  std::int32_t words[16] = {};
  std::vector<hipError_t> errors;
  errors.push_back(hipMemcpyFromSymbol(words, HIP_SYMBOL(counters), 36));
  errors.push_back(hipMemcpyFromSymbol(words, HIP_SYMBOL(counters), 4, 32));
  errors.push_back(hipMemcpyToSymbol(words, words, 4));
  return errors;
}

hipError_t copy_to_and_from_variable(std::int32_t* device, const void* from, bool to_waits) {
  if (to_waits) {
    const hipError_t error = hipMemcpyToSymbol(HIP_SYMBOL(counters), from, 16);
    (void)hipMemcpyFromSymbolAsync(device, HIP_SYMBOL(counters), 16, 0, hipMemcpyDeviceToDevice,
                                   nullptr);
    return error;
  }
  (void)hipMemcpyToSymbolAsync(HIP_SYMBOL(counters), from, 16, 0, hipMemcpyHostToDevice, nullptr);
  return hipMemcpyFromSymbol(device, HIP_SYMBOL(counters), 16, 0, hipMemcpyDeviceToDevice);
}

hipError_t write_past_the_end() {
  const Words out(8);
  past_the_end_kernel<<<1, 1>>>(out, 8);
  return hipGetLastError();
}

void fault_unasked() {
  const Words out(8);
  past_the_end_kernel<<<1, 1>>>(out, 8);
}

hipError_t write_to_freed() {
  std::int32_t* freed = nullptr;
  (void)hipMalloc(&freed, 64);
  (void)hipFree(freed);
  past_the_end_kernel<<<1, 1>>>(freed, 0);
  return hipGetLastError();
}

hipError_t launch_together(unsigned blocks) {
  const Words out(64);
  std::int32_t* words = out;
  std::int32_t factor = 3;
  void* arguments[] = {&words, &factor};
  return hipLaunchCooperativeKernel(module_kernel, blocks, 64, arguments, 0, nullptr);
}

void barrier_for_half() {
  const Words out(64);
  barrier_for_half_kernel<<<1, 128>>>(out);
}

const void* barrier_for_half_stub() {
  return reinterpret_cast<const void*>(barrier_for_half_kernel);
}

std::vector<std::int32_t> copy_of(const std::vector<std::int32_t>& written, std::size_t count) {
  std::int32_t *from = nullptr, *to = nullptr;
  const std::size_t bytes = count * sizeof *from;
  (void)hipMalloc(&from, bytes);
  (void)hipMalloc(&to, bytes);
  (void)hipMemcpy(from, written.data(), written.size() * sizeof *from, hipMemcpyHostToDevice);
  copy_kernel<<<1, static_cast<unsigned>(count)>>>(from, to);
  std::vector<std::int32_t> out(count);
  (void)hipMemcpy(out.data(), to, bytes, hipMemcpyDeviceToHost);
  (void)hipFree(from);
  (void)hipFree(to);
  return out;
}

__global__ void step_word_kernel(std::int32_t* word, std::int32_t factor, std::int32_t addend) {
  __shared__ volatile std::int32_t kept;
  kept = *word * factor;
  *word = kept + addend;
}

const void* step_word() {
  return reinterpret_cast<const void*>(step_word_kernel);
}

__global__ void unguarded_kernel(std::int32_t* out) {
  __shared__ volatile std::int32_t kept[128];
  kept[threadIdx.x] = 1000 + static_cast<std::int32_t>(threadIdx.x);
  out[threadIdx.x] = kept[(threadIdx.x + 64) % 128];
}

std::vector<std::int32_t> unguarded() {
  std::vector<std::int32_t> out(128);
  std::int32_t* there = nullptr;
  (void)hipMalloc(&there, out.size() * sizeof *there);
  unguarded_kernel<<<1, 128>>>(there);
  (void)hipMemcpy(out.data(), there, out.size() * sizeof *there, hipMemcpyDeviceToHost);
  (void)hipFree(there);
  return out;
}

hipError_t free_a_stranger() {
  std::int32_t stranger = 0;
  (void)hipFree(&stranger);
  return hipGetLastError();
}

}  // namespace hip_program

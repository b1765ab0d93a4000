// Features of the language: each sets one element, which is 1 where the result is as expected.
#include <hip/hip_runtime.h>

#include "language.hpp"

namespace hip_language {
namespace {

constexpr int blocks = 4, threads = 128;

// Notes a feature that is wrong in any lane.
struct Results {
  unsigned* wrong;
  __device__ void expect(int feature, bool right) const {
    if (!right) atomicOr(&wrong[feature], 1U);
  }
};

enum Feature {
  shuffles,
  votes,
  matches,
  lane_masks,
  bit_counts,
  bytes_and_funnels,
  products,
  casts,
  add_and_subtract,
  minimum_and_maximum,
  bitwise,
  exchanges,
  wrapping,
  floats,
  scopes,
  counting,
  clocks,
  indices,
  constants,
  constructed,
  templates,
  lambdas,
  virtual_functions,
  recursion,
  function_pointers,
  assembly,
  matrix_products,
  copies_to_lds,
  dynamic_lds,
  launch_bounds,
  rounding,
  complex_numbers,
  features
};
const char* const names[] = {"shuffles",
                             "votes",
                             "matches",
                             "lane masks",
                             "bit counts",
                             "bytes and funnels",
                             "products",
                             "casts",
                             "add and subtract",
                             "minimum and maximum",
                             "bitwise atomics",
                             "exchanges",
                             "atomicInc and atomicDec",
                             "atomics of float and double",
                             "scopes",
                             "__syncthreads_count",
                             "clocks",
                             "indices",
                             "constants",
                             "a global with a constructor",
                             "templates",
                             "lambdas",
                             "virtual functions",
                             "recursion",
                             "function pointers",
                             "inline assembly",
                             "matrix products",
                             "copies to LDS",
                             "dynamic LDS",
                             "launch bounds",
                             "conversions with a rounding",
                             "complex numbers"};
static_assert(sizeof names / sizeof *names == features);

__global__ void wave_kernel(Results r) {
  const int lane = static_cast<int>(__lane_id()), self = static_cast<int>(threadIdx.x % 64);
  const unsigned long long all = ~0ULL;
  r.expect(shuffles, lane == self && __shfl_sync(all, self, 5) == 5);
  r.expect(shuffles, __shfl_down_sync(all, self, 3, 16) == (self % 16 > 12 ? self : self + 3));
  r.expect(shuffles, __shfl_up_sync(all, 1.5 * self, 1) == (self == 0 ? 0 : 1.5 * (self - 1)));
  r.expect(shuffles, __shfl_xor_sync(all, static_cast<long long>(self) << 40, 7) ==
                         static_cast<long long>(self ^ 7) << 40);
  r.expect(shuffles, __shfl(static_cast<short>(self), 9, 32) == (self & 32) + 9);
  r.expect(votes, __ballot(self % 2) == 0xaaaaaaaaaaaaaaaaULL && __any(self == 3) && !__all(self));
  r.expect(votes, __ballot_sync(0xffULL, self < 4) == 15 && __all_sync(all, self < 64) &&
                      !__any_sync(all, self > 63));
  if (self % 4 == 1) r.expect(votes, __activemask() == 0x2222222222222222ULL);
  const unsigned long long thirds = __match_any(self % 3);
  r.expect(matches, (thirds >> self & 1) == 1 && (thirds & 7) == 1ULL << self % 3 &&
                        __popcll(thirds) == (self % 3 == 0 ? 22 : 21));
  int same = 0;
  r.expect(matches, __match_all_sync(all, 4.5, &same) == all && same == 1);
  r.expect(matches, __match_all(self, &same) == 0 && same == 0);
  r.expect(lane_masks, __lanemask_lt() == (1ULL << self) - 1 && __lanemask_eq() == 1ULL << self &&
                           warpSize == 64);
  r.expect(counting, __syncthreads_count(self < 5) == 10 && __syncthreads_or(threadIdx.x == 127) &&
                         !__syncthreads_and(threadIdx.x != 3));
  const long long before = clock64();
  const long long wall = wall_clock64();
  __threadfence_block();
  r.expect(clocks, clock64() >= before && wall_clock64() >= wall && clock64() > 0);
  auto i = threadIdx.x;
  i = i + 1;
  const dim3 sizes = blockDim;
  r.expect(indices, i == threadIdx.x + 1 && sizes.x == threads && gridDim.x == blocks &&
                        hipBlockDim_x == threads);
}

__global__ void bits_kernel(Results r, unsigned value, int number) {  // 0x01234567, -6
  r.expect(bit_counts, __popc(value) == 12 && __clz(static_cast<int>(value)) == 7 &&
                           __ffs(static_cast<int>(value)) == 1 && __clzll(1LL << 40) == 23 &&
                           __ffsll(static_cast<long long>(value) << 32) == 33 && __clz(0) == 32 &&
                           __ffs(0) == 0 && __clzll(0) == 64 && __ffsll(0LL) == 0 &&
                           __popcll(~0ULL) == 64);
  r.expect(bit_counts, __brev(value) == 0xe6a2c480 && __brevll(1ULL) == 1ULL << 63);
  r.expect(bytes_and_funnels, __byte_perm(value, 0x89abcdef, 0x7604) == 0x89ab67ef &&
                                  __funnelshift_l(value, 0x89abcdef, 8) == 0xabcdef01 &&
                                  __funnelshift_r(value, 0x89abcdef, 8) == 0xef012345 &&
                                  __funnelshift_lc(value, 0x89abcdef, 40) == value);
  r.expect(bytes_and_funnels, __bitextract_u32(value, 8, 12) == 0x345 &&
                                  __bitinsert_u32(value, 0xab, 4, 8) == 0x01234ab7);
  r.expect(products, __mul24(number, 7) == -42 && __umul24(0xff000003, 5) == 15 &&
                         __mulhi(number, 1 << 30) == -2 &&
                         __umulhi(value, 1U << 31) == value >> 1 &&
                         __umul64hi(1ULL << 63, 6) == 3 && __mul64hi(-1, 5) == -1);
  r.expect(products, __sad(number, 4, 100) == 110 && __usad(3, 9, 1) == 7 &&
                         __dp4a(0x01ff0203, 0x02030405, 7) == 7 + 2 - 3 + 8 + 15 &&
                         __hadd(number, 3) == -2 && __rhadd(number, 3) == -1 &&
                         __uhadd(~0U, ~0U) == ~0U);
  r.expect(casts, __float_as_int(-0.5F) == static_cast<int>(0xbf000000) &&
                      __int_as_float(0x40490fdb) > 3.14F &&
                      __double_as_longlong(1) == 0x3ffLL << 52 &&
                      __hiloint2double(0x3ff00000, 0) == 1 && __double2hiint(-2) < 0);
  const float half = static_cast<float>(number) / 4;  // -1.5
  r.expect(rounding, __float2int_rd(half) == -2 && __float2int_ru(half) == -1 &&
                         __float2int_rn(half) == -2 && __float2int_rz(half) == -1 &&
                         __double2ll_rn(2.5) == 2 && __int2float_rn(16777217) == 16777216.0F);
  r.expect(complex_numbers, (std::complex<float>(half, 1) * std::complex<float>(2, half)) ==
                                std::complex<float>(-1.5F, 4.25F));
}

struct Counters {
  int sum, most, least, bits;
  unsigned set, cleared, turned, wrapped, lowered, swapped;
  unsigned long long large, large_most;
  float single;
  double precise;
  float largest;
};
__device__ Counters counters = {0, -1000, 1000, 0, 0, ~0U, 0, 0, 0, 0, 0, 0, 0, 0, -1};

__global__ void atomics_kernel() {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(&counters.sum, i);
  atomicSub(&counters.sum, 1);
  atomicMax_system(&counters.most, i);
  atomicMin(&counters.least, -i);
  atomicOr(&counters.set, 1U << i % 32);
  atomicAnd(&counters.cleared, ~(1U << i % 16));
  atomicXor(&counters.turned, 1U << i % 3);
  atomicInc(&counters.wrapped, 100U);
  atomicDec(&counters.lowered, 100U);
  atomicAdd(&counters.large, 1ULL << 33);
  atomicMax(&counters.large_most, static_cast<unsigned long long>(i) << 32);
  atomicAdd(&counters.single, 0.5F);
  unsafeAtomicAdd(&counters.precise, 0.25);
  atomicMax(&counters.largest, static_cast<float>(i));
  unsigned seen = __hip_atomic_load(&counters.swapped, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  unsigned before;
  do {
    before = seen;
    seen = atomicCAS(&counters.swapped, before, before + 2);
  } while (seen != before);
  __hip_atomic_fetch_add(&counters.bits, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}
__global__ void counted_kernel(Results r) {
  const Counters& c = counters;
  constexpr int n = blocks * threads;
  r.expect(add_and_subtract, c.sum == n * (n - 1) / 2 - n && c.large == 1ULL * n << 33);
  r.expect(minimum_and_maximum, c.most == n - 1 && c.least == 1 - n &&
                                    c.large_most == static_cast<unsigned long long>(n - 1) << 32);
  r.expect(bitwise, c.set == ~0U && c.cleared == 0xffff0000 &&
                        c.turned == ((n + 2) / 3 % 2 | (n + 1) / 3 % 2 << 1 | n / 3 % 2 << 2));
  r.expect(wrapping, c.wrapped == n % 101 && c.lowered == (101 - n % 101) % 101);
  r.expect(exchanges, c.swapped == 2 * n);
  r.expect(floats, c.single == 0.5F * n && c.precise == 0.25 * n && c.largest == n - 1);
  __shared__ int local;
  if (threadIdx.x == 0) local = 0;
  __syncthreads();
  atomicAdd_block(&local, 2);
  __syncthreads();
  r.expect(scopes, local == 2 * threads && c.bits == n);
}

__constant__ int table[4] = {2, 3, 5, 7};
struct Constructed {
  int a;
  double b;
  constexpr Constructed(int x) : a(x), b(x / 2.0) {}
};
__device__ Constructed constructed_global(9);
struct Shape {
  __device__ virtual int area() const { return 1; }
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ int area() const override { return side * side; }
};
__device__ __attribute__((noinline)) int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__device__ int twice(int x) {
  return 2 * x;
}
__device__ int thrice(int x) {
  return 3 * x;
}
template <class T, int count>
__device__ T power_of(T x) {
  if constexpr (count == 0)
    return 1;
  else
    return x * power_of<T, count - 1>(x);
}
using Four = float __attribute__((ext_vector_type(4)));

__global__ void language_kernel(Results r, int two, bool recursive) {
  r.expect(constants, table[two] == 5 && table[threadIdx.x % 4] > 1);
  r.expect(constructed, constructed_global.a == 9 && constructed_global.b == 4.5);
  r.expect(templates, power_of<double, 5>(two) == 32 && power_of<int, 0>(two) == 1);
  const auto scaled = [two](int x) { return two * x; };
  r.expect(lambdas, scaled(21) == 42);
  const Square square(static_cast<int>(threadIdx.x) + two);
  const Shape plain;
  const Shape* const shapes[] = {&square, &plain};
  const auto side = static_cast<int>(threadIdx.x) + 2;
  r.expect(virtual_functions,
           shapes[two - 2]->area() == side * side && shapes[two - 1]->area() == 1);
  if (recursive) r.expect(recursion, fibonacci(two + 5) == 13);
  int (*const of[])(int) = {twice, thrice};
  r.expect(function_pointers, of[threadIdx.x % 2](7) == (threadIdx.x % 2 == 0 ? 14 : 21));
  unsigned sum = 0;
  asm volatile("v_add_u32 %0, %1, %2" : "=v"(sum) : "v"(threadIdx.x), "v"(two));
  r.expect(assembly, sum == threadIdx.x + 2);
  // A of ones and B of twos: 4 products in each element.
  const Four product = __builtin_amdgcn_mfma_f32_16x16x4f32(1.0F, 2.0F, Four{0, 0, 0, 1}, 0, 0, 0);
  r.expect(matrix_products, product.x == 8 && product.w == 9);
}

__global__ void copies_kernel(Results r, unsigned* numbers) {
  __shared__ unsigned copied[threads];
  const auto wave = __builtin_amdgcn_readfirstlane(threadIdx.x / 64);
  __builtin_amdgcn_global_load_lds(numbers + threadIdx.x, &copied[64 * wave], 4, 0, 0);
  __builtin_amdgcn_s_waitcnt(0);
  __syncthreads();
  r.expect(copies_to_lds, copied[127 - threadIdx.x] == 3 * (127 - threadIdx.x));
}
__global__ void __launch_bounds__(threads, 2) dynamic_kernel(Results r) {
  extern __shared__ int of_block[];
  of_block[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  r.expect(dynamic_lds, of_block[threadIdx.x ^ 1] == static_cast<int>(threadIdx.x ^ 1));
  r.expect(launch_bounds, blockDim.x == threads);
}

}  // namespace

std::vector<std::string> wrong_features(bool recursive) {
  Results r{};
  (void)hipMallocManaged(&r.wrong, features * sizeof(unsigned));
  (void)hipMemset(r.wrong, 0, features * sizeof(unsigned));
  unsigned* numbers = nullptr;
  (void)hipMallocManaged(&numbers, threads * sizeof(unsigned));
  for (unsigned k = 0; k < threads; ++k) numbers[k] = 3 * k;
  const Counters fresh = {0, -1000, 1000, 0, 0, ~0U, 0, 0, 0, 0, 0, 0, 0, 0, -1};
  (void)hipMemcpyToSymbol(HIP_SYMBOL(counters), &fresh, sizeof fresh);
  wave_kernel<<<blocks, threads>>>(r);
  bits_kernel<<<1, 64>>>(r, 0x01234567, -6);
  atomics_kernel<<<blocks, threads>>>();
  counted_kernel<<<1, threads>>>(r);
  language_kernel<<<1, threads>>>(r, 2, recursive);
  copies_kernel<<<1, threads>>>(r, numbers);
  dynamic_kernel<<<1, threads, threads * sizeof(int)>>>(r);
  std::vector<std::string> out;
  for (int k = 0; k < features; ++k)
    if (r.wrong[k] != 0) out.push_back(names[k]);
  if (hipGetLastError() != hipSuccess) out.push_back("a launch failed");
  (void)hipFree(r.wrong);
  (void)hipFree(numbers);
  return out;
}

}  // namespace hip_language

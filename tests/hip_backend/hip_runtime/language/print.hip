// What kernels print, and how an assertion ends a launch.
#include <hip/hip_runtime.h>

#include <cassert>

#include "language.hpp"

namespace hip_language {
namespace {

__global__ void everything_kernel(const char* word) {
  printf("%s|%5s|%-5s|%%|%c\n", "text", word, "left", 'x');
  printf("%d|%5d|%-5d|%05d|%+d|%u|%x|%#X|%o\n", -7, 42, 42, 42, 42, ~0U, 255, 255, 8);
  printf("%ld|%lld|%lu|%zu|%hhd|%hu\n", -(1L << 40), 1LL << 62, ~0UL, sizeof(int),
         static_cast<signed char>(-3), static_cast<unsigned short>(65535));
  printf("%f|%.2f|%8.3f|%e|%g|%G\n", 1.5, 2.0F / 3, -3.14159, 12345.678, 1e-10, 0.0001);
  printf("%p|%*d|%.*f\n", reinterpret_cast<void*>(0x1234), 6, 9, 2, 1.0);
  printf("no arguments\n");
}
__global__ void order_kernel() {
  for (int k = 0; k < 3; ++k)
    if (threadIdx.x % 32 == 5) printf("%d,%d;", static_cast<int>(threadIdx.x), k);
}
__global__ void assert_kernel(int value) {
  printf("before\n");
  assert(value == 3 && "the value has to be 3");
  printf("after\n");
}
__global__ void abort_kernel(int value) {
  if (value != 0) abort();
}

}  // namespace

void print_everything() {
  char* word = nullptr;
  (void)hipMallocManaged(&word, 8);
  for (int k = 0; k < 4; ++k) word[k] = "abc"[k];
  everything_kernel<<<1, 1>>>(word);
  (void)hipFree(word);
}
void print_in_order() {
  order_kernel<<<1, 64>>>();
}
int launch_with_assertion(int value) {
  assert_kernel<<<1, 1>>>(value);
  return hipGetLastError();
}
int launch_with_abort() {
  abort_kernel<<<1, 64>>>(1);
  return hipGetLastError();
}

}  // namespace hip_language

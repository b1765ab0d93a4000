// An ordinary HIP program: y = a x + y, then the first 256 elements of y backwards, on
// whatever device there is. A first argument is how many elements more than the arrays have are
// computed; a second one leaves out a barrier.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void backwards(float* y, bool barrier) {
  __shared__ float all[256];
  all[threadIdx.x] = y[threadIdx.x];
  if (barrier) __syncthreads();
  y[threadIdx.x] = all[255 - threadIdx.x];
}

static void check(hipError_t error, const char* what) {
  if (error == hipSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, hipGetErrorString(error));
  std::exit(1);
}

int main(int argc, char** argv) {
  const int n = 1000, more = argc > 1 ? std::atoi(argv[1]) : 0;
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i) x[i] = i, y[i] = 2 * i;
  float *dx = nullptr, *dy = nullptr;
  check(hipMalloc(&dx, n * sizeof(float)), "hipMalloc");
  check(hipMalloc(&dy, n * sizeof(float)), "hipMalloc");
  check(hipMemcpy(dx, x.data(), n * sizeof(float), hipMemcpyHostToDevice), "hipMemcpy");
  check(hipMemcpy(dy, y.data(), n * sizeof(float), hipMemcpyHostToDevice), "hipMemcpy");
  saxpy<<<(n + more + 255) / 256, 256>>>(n + more, 3, dx, dy);
  check(hipGetLastError(), "saxpy");
  backwards<<<1, 256>>>(dy, argc < 3);
  check(hipMemcpy(y.data(), dy, n * sizeof(float), hipMemcpyDeviceToHost), "hipMemcpy");
  for (int i = 0; i < n; ++i)
    if (y[i] != 5 * (i < 256 ? 255 - i : i)) return std::printf("element %d is %g\n", i, y[i]), 1;
  hipDeviceProp_t device;
  check(hipGetDeviceProperties(&device, 0), "hipGetDeviceProperties");
  std::printf("right on %s\n", device.name);
}

// What a HIP program includes, for a build without ROCm: any clang from 20 on compiles it for
// gfx942 or gfx950 with -nogpuinc, and the runtime beside it (hip_runtime.cpp) launches on the
// emulator.
//
// Names and values are those of HIP 6.4. It holds what AITER's planners and reductions use and
// common calls of the host; what is missing is an error of the compiler that names it. The device's
// side is in device_functions.h.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>

#include "hip_vector_types.h"
#include "hip_version.h"
#include "runtime_types.h"

// As hipcc defines them for both halves; clang with `-x hip` brings __HIP__. mla_hip_source()
// defines the first as well, for what a program asks before it includes this.
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#if defined(__HIP__) && !defined(__HIPCC__)
#define __HIPCC__ 1
#endif

// A word of CUDA's that code for both uses, as ROCm's headers have it.
#define CUDA_SUCCESS hipSuccess

#if defined(__HIP__)
#include "device/first.h"
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
// As HIP means it: the second number is waves of a SIMD, where CUDA's is workgroups.
#define MLA_BOUNDS_OF_THREADS(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define MLA_BOUNDS_OF_WAVES(threads, waves) \
  __attribute__((amdgpu_flat_work_group_size(1, threads), amdgpu_waves_per_eu(waves)))
#define MLA_THIRD(first, second, third, ...) third
#define __launch_bounds__(...) \
  MLA_THIRD(__VA_ARGS__, MLA_BOUNDS_OF_WAVES, MLA_BOUNDS_OF_THREADS, )(__VA_ARGS__)
#else
#define __host__
#define __device__
#endif

// Whatever else a program hides, these are of the runtime.
#pragma GCC visibility push(default)
extern "C" {
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel,
                                                        int block_size, std::size_t dynamic_lds);
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel,
                                                                 int block_size,
                                                                 std::size_t dynamic_lds,
                                                                 unsigned flags);
hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, hipFunction_t function,
                                                              int block_size,
                                                              std::size_t dynamic_lds);
hipError_t hipOccupancyMaxPotentialBlockSize(int* grid_size, int* block_size, const void* kernel,
                                             std::size_t dynamic_lds, int block_limit);
hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* kernel);
hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute attribute, hipFunction_t function);
hipError_t hipFuncSetAttribute(const void* kernel, hipFuncAttribute attribute, int value);
hipError_t hipFuncSetCacheConfig(const void* kernel, hipFuncCache_t config);
hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                           std::size_t dynamic_lds, hipStream_t stream);
// Of a grid that fits on the device at once; else hipErrorCooperativeLaunchTooLarge. Its workgroups
// cannot wait for each other: grid_group::sync() does not compile.
hipError_t hipLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                      unsigned dynamic_lds, hipStream_t stream);
// Code objects and clang's bundles of them, for the architecture of the program's own code.
hipError_t hipModuleLoad(hipModule_t* module, const char* path);
hipError_t hipModuleLoadData(hipModule_t* module, const void* image);
hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned options,
                               hipJitOption* names, void** values);
hipError_t hipModuleUnload(hipModule_t module);
hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name);
hipError_t hipModuleGetGlobal(hipDeviceptr_t* address, std::size_t* bytes, hipModule_t module,
                              const char* name);
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned dynamic_lds, hipStream_t stream,
                                 void** arguments, void** extra);
hipError_t hipGetFuncBySymbol(hipFunction_t* function, const void* symbol);
hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned grid_x,
                                            unsigned grid_y, unsigned grid_z, unsigned block_x,
                                            unsigned block_y, unsigned block_z,
                                            unsigned dynamic_lds, hipStream_t stream,
                                            void** arguments);
hipError_t hipLaunchKernelExC(const hipLaunchConfig_t* config, const void* kernel,
                              void** arguments);
// hipLaunchKernel() between two events; null events are left out.
hipError_t hipExtLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                              std::size_t dynamic_lds, hipStream_t stream, hipEvent_t before,
                              hipEvent_t after, int flags);
// What clang makes of `kernel<<<grid, block, lds, stream>>>(...)`.
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, std::size_t lds = 0,
                                      hipStream_t stream = nullptr);
hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, std::size_t* lds,
                                     hipStream_t* stream);
}
#pragma GCC visibility pop
#include "array_calls.h"
#include "context_calls.h"
#include "device_calls.h"
#include "graph_calls.h"
#include "graph_node_calls.h"
#include "memory_calls.h"
#include "pool_calls.h"
#include "stream_calls.h"
template <class Kernel>
hipError_t hipLaunchCooperativeKernel(Kernel kernel, dim3 grid, dim3 block, void** arguments,
                                      unsigned dynamic_lds, hipStream_t stream) {
  return hipLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments,
                                    dynamic_lds, stream);
}
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
// In two steps, so that a macro may stand for several arguments.
#define hipLaunchKernelGGL(kernel, ...) hipLaunchKernelGGLInternal(kernel, __VA_ARGS__)
#define hipLaunchKernelGGLInternal(kernel, grid, block, lds, stream, ...) \
  kernel<<<(grid), (block), (lds), (stream)>>>(__VA_ARGS__)
template <class Kernel>
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel kernel, int block_size,
                                                        std::size_t dynamic_lds) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void*>(kernel),
                                                      block_size, dynamic_lds);
}
template <class Kernel>
hipError_t hipOccupancyMaxPotentialBlockSize(int* grid_size, int* block_size, Kernel kernel,
                                             std::size_t dynamic_lds = 0, int block_limit = 0) {
  return hipOccupancyMaxPotentialBlockSize(
      grid_size, block_size, reinterpret_cast<const void*>(kernel), dynamic_lds, block_limit);
}
template <class Kernel>
hipError_t hipOccupancyMaxPotentialBlockSizeWithFlags(int* grid_size, int* block_size,
                                                      Kernel kernel, std::size_t dynamic_lds = 0,
                                                      int block_limit = 0, unsigned = 0) {
  return hipOccupancyMaxPotentialBlockSize(grid_size, block_size, kernel, dynamic_lds, block_limit);
}
// The block with the most threads on a compute unit, whose dynamic LDS depends on its size.
template <class Kernel, class Bytes>
hipError_t hipOccupancyMaxPotentialBlockSizeVariableSMem(int* grid_size, int* block_size,
                                                         Kernel kernel, Bytes bytes_of_block,
                                                         int block_limit = 0) {
  const auto* const stub = reinterpret_cast<const void*>(kernel);
  hipFuncAttributes attributes;
  if (const hipError_t error = hipFuncGetAttributes(&attributes, stub)) return error;
  int units = 0, most = attributes.maxThreadsPerBlock, best = 0, blocks = 0;
  if (const hipError_t error =
          hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, 0))
    return error;
  if (grid_size == nullptr || block_size == nullptr || block_limit < 0) return hipErrorInvalidValue;
  if (block_limit != 0 && block_limit < most) most = block_limit;
  for (int size = most; size > 0; size = (size - 1) / 64 * 64) {
    int fit = 0;
    if (const hipError_t error = hipOccupancyMaxActiveBlocksPerMultiprocessor(
            &fit, stub, size, static_cast<std::size_t>(bytes_of_block(size))))
      return error;
    if (fit * size > blocks * best) best = size, blocks = fit;
  }
  *block_size = best;
  *grid_size = blocks * units;
  return best == 0 ? hipErrorInvalidValue : hipSuccess;
}
template <class Kernel, class Bytes>
hipError_t hipOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(int* grid_size, int* block_size,
                                                                  Kernel kernel,
                                                                  Bytes bytes_of_block,
                                                                  int block_limit = 0,
                                                                  unsigned = 0) {
  return hipOccupancyMaxPotentialBlockSizeVariableSMem(grid_size, block_size, kernel,
                                                       bytes_of_block, block_limit);
}

#if defined(__HIP__)
#include "device_functions.h"
#endif

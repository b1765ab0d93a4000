// Launches of kernels between two events. A null event is left out; flags change nothing here.
#pragma once

#include "hip_runtime.h"

#pragma GCC visibility push(default)
extern "C" {
// The grid is in threads, and a multiple of the block.
hipError_t hipExtModuleLaunchKernel(hipFunction_t function, std::uint32_t threads_x,
                                    std::uint32_t threads_y, std::uint32_t threads_z,
                                    std::uint32_t block_x, std::uint32_t block_y,
                                    std::uint32_t block_z, std::size_t dynamic_lds,
                                    hipStream_t stream, void** arguments, void** extra,
                                    hipEvent_t before = nullptr, hipEvent_t after = nullptr,
                                    std::uint32_t flags = 0);
hipError_t hipHccModuleLaunchKernel(hipFunction_t function, std::uint32_t threads_x,
                                    std::uint32_t threads_y, std::uint32_t threads_z,
                                    std::uint32_t block_x, std::uint32_t block_y,
                                    std::uint32_t block_z, std::size_t dynamic_lds,
                                    hipStream_t stream, void** arguments, void** extra,
                                    hipEvent_t before = nullptr, hipEvent_t after = nullptr);
}
#pragma GCC visibility pop

template <class Kernel>
hipError_t hipExtLaunchKernel(Kernel kernel, dim3 grid, dim3 block, void** arguments,
                              std::size_t dynamic_lds, hipStream_t stream, hipEvent_t before,
                              hipEvent_t after, int flags) {
  return hipExtLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments,
                            dynamic_lds, stream, before, after, flags);
}

#if defined(__HIP__)
// As in HIP the launch's error is that of hipGetLastError().
template <class... Parameters, class... Arguments>
inline void hipExtLaunchKernelGGL(void (*kernel)(Parameters...), const dim3& grid,
                                  const dim3& block, std::uint32_t dynamic_lds, hipStream_t stream,
                                  hipEvent_t before, hipEvent_t after, std::uint32_t,
                                  Arguments... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments),
                "the kernel has another number of arguments");
  if (before != nullptr && hipEventRecord(before, stream) != hipSuccess) return;
  kernel<<<grid, block, dynamic_lds, stream>>>(arguments...);
  if (after != nullptr) (void)hipEventRecord(after, stream);
}
#endif

// How many workgroups a compute unit holds, by the registers and the LDS of a kernel, as HIP counts
// them. A SIMD has 512 vector registers for each lane and room for 8 waves; there are four.
#include <algorithm>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/launch.hpp"
#include "hip_backend/hip_runtime/state.hpp"

namespace rt = mla::hip_runtime;

namespace mla::hip_runtime {
namespace {

constexpr int kSimds = 4, kMostWaves = 8, kRegisters = 512, kRegisterBlock = 8, kLanes = 64;

int most_threads(const gfx::Kernel& kernel) {
  return kernel.max_workgroup_size == 0 ? 1024 : static_cast<int>(kernel.max_workgroup_size);
}

int blocks_of(const gfx::Kernel& kernel, int block_size, std::size_t dynamic_lds) {
  const auto stated =
      static_cast<int>(kernel.stated_vgprs != 0 ? kernel.stated_vgprs : kernel.vgprs);
  const int registers =
      (std::max(stated, 1) + kRegisterBlock - 1) / kRegisterBlock * kRegisterBlock;
  const int waves = kSimds * std::min(kMostWaves, kRegisters / registers);
  const int by_waves = waves / ((block_size + kLanes - 1) / kLanes);
  const std::size_t lds = kernel.group_segment_size + dynamic_lds;
  hipDeviceProp_t properties;
  (void)hipGetDeviceProperties(&properties, 0);
  if (lds == 0) return by_waves;
  const std::size_t by_lds = properties.maxSharedMemoryPerMultiProcessor / lds;
  return static_cast<int>(std::min<std::size_t>(by_lds, static_cast<std::size_t>(by_waves)));
}

// A null kernel is one that was not found.
hipError_t active_blocks(const gfx::Kernel* kernel, int* blocks, int block_size,
                         std::size_t dynamic_lds) {
  if (kernel == nullptr) return last_error();
  if (blocks == nullptr || block_size < 1 || block_size > most_threads(*kernel))
    return keep(hipErrorInvalidValue);
  return *blocks = blocks_of(*kernel, block_size, dynamic_lds), hipSuccess;
}

}  // namespace
}  // namespace mla::hip_runtime

extern "C" {

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* stub,
                                                        int block_size, std::size_t dynamic_lds) {
  const rt::Turn turn;
  const auto* const kernel = rt::registered_kernel("hipOccupancy", stub);
  return rt::active_blocks(kernel, blocks, block_size, dynamic_lds);
}
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* stub,
                                                                 int block_size,
                                                                 std::size_t dynamic_lds,
                                                                 unsigned flags) {
  if (flags > 1) return rt::keep(hipErrorInvalidValue);
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, stub, block_size, dynamic_lds);
}
hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, hipFunction_t handle,
                                                              int block_size,
                                                              std::size_t dynamic_lds) {
  const rt::Turn turn;
  const auto* const function = rt::function_of("hipModuleOccupancy", handle);
  const auto* const kernel = function == nullptr ? nullptr : rt::kernel_of(*function);
  return rt::active_blocks(kernel, blocks, block_size, dynamic_lds);
}
// The block with the most threads on a compute unit, and of several the largest.
hipError_t hipOccupancyMaxPotentialBlockSize(int* grid_size, int* block_size, const void* stub,
                                             std::size_t dynamic_lds, int block_limit) {
  const rt::Turn turn;
  const auto* const kernel = rt::registered_kernel("hipOccupancy", stub);
  if (kernel == nullptr) return rt::last_error();
  if (grid_size == nullptr || block_size == nullptr || block_limit < 0)
    return rt::keep(hipErrorInvalidValue);
  const int most = rt::most_threads(*kernel);
  int best = 0, blocks = 0;
  for (int size = block_limit == 0 ? most : std::min(most, block_limit); size > 0;
       size = (size - 1) / rt::kLanes * rt::kLanes) {
    const int fit = rt::blocks_of(*kernel, size, dynamic_lds);
    if (fit * size > blocks * best) best = size, blocks = fit;
  }
  if (best == 0)
    return rt::fault(hipErrorInvalidValue,
                     mla::say("hipOccupancyMaxPotentialBlockSize: no block of ", kernel->name,
                              " fits with ", dynamic_lds, " bytes of dynamic LDS"));
  *block_size = best;
  *grid_size = blocks * rt::runtime().compute_units();
  return hipSuccess;
}

}  // extern "C"

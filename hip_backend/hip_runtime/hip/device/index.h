// threadIdx, blockIdx, blockDim and gridDim: numbers that are read from the wave where they are
// used. `auto i = threadIdx.x` is a number, and each converts to uint3 and dim3.
#pragma once

#include "../hip_vector_types.h"

namespace mla_hip {

#define MLA_GROUPS(axis) \
  (__builtin_amdgcn_grid_size_##axis() / __builtin_amdgcn_workgroup_size_##axis())
#define MLA_INDEX(type, read_x, read_y, read_z)   \
  struct type {                                   \
    __device__ static unsigned get_x() {          \
      return read_x;                              \
    }                                             \
    __device__ static unsigned get_y() {          \
      return read_y;                              \
    }                                             \
    __device__ static unsigned get_z() {          \
      return read_z;                              \
    }                                             \
    __declspec(property(get = get_x)) unsigned x; \
    __declspec(property(get = get_y)) unsigned y; \
    __declspec(property(get = get_z)) unsigned z; \
    __device__ operator uint3() const {           \
      return {get_x(), get_y(), get_z()};         \
    }                                             \
    __device__ operator dim3() const {            \
      return {get_x(), get_y(), get_z()};         \
    }                                             \
  }
MLA_INDEX(Thread, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
          __builtin_amdgcn_workitem_id_z());
MLA_INDEX(Block, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
          __builtin_amdgcn_workgroup_id_z());
MLA_INDEX(BlockSize, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
          __builtin_amdgcn_workgroup_size_z());
MLA_INDEX(GridSize, MLA_GROUPS(x), MLA_GROUPS(y), MLA_GROUPS(z));
#undef MLA_GROUPS
#undef MLA_INDEX

}  // namespace mla_hip

extern const __device__ __attribute__((weak)) mla_hip::Thread threadIdx;
extern const __device__ __attribute__((weak)) mla_hip::Block blockIdx;
extern const __device__ __attribute__((weak)) mla_hip::BlockSize blockDim;
extern const __device__ __attribute__((weak)) mla_hip::GridSize gridDim;

constexpr int warpSize = 64;
#define hipThreadIdx_x (threadIdx.x)
#define hipThreadIdx_y (threadIdx.y)
#define hipThreadIdx_z (threadIdx.z)
#define hipBlockIdx_x (blockIdx.x)
#define hipBlockIdx_y (blockIdx.y)
#define hipBlockIdx_z (blockIdx.z)
#define hipBlockDim_x (blockDim.x)
#define hipBlockDim_y (blockDim.y)
#define hipBlockDim_z (blockDim.z)
#define hipGridDim_x (gridDim.x)
#define hipGridDim_y (gridDim.y)
#define hipGridDim_z (gridDim.z)

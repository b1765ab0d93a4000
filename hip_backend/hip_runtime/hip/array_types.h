// Arrays, and copies that are described by a structure. Names and values are those of HIP 6.4.
#pragma once

#include "runtime_types.h"

using hipArray_const_t = const struct hipArray*;
enum hipChannelFormatKind {
  hipChannelFormatKindSigned,
  hipChannelFormatKindUnsigned,
  hipChannelFormatKindFloat,
  hipChannelFormatKindNone,
};
struct hipChannelFormatDesc {
  int x, y, z, w;  // bits
  hipChannelFormatKind f;
};
#define hipArrayDefault 0x00
#define hipArrayLayered 0x01
#define hipArraySurfaceLoadStore 0x02
#define hipArrayCubemap 0x04
#define hipArrayTextureGather 0x08
enum hipArray_Format {
  HIP_AD_FORMAT_UNSIGNED_INT8 = 0x01,
  HIP_AD_FORMAT_UNSIGNED_INT16,
  HIP_AD_FORMAT_UNSIGNED_INT32,
  HIP_AD_FORMAT_SIGNED_INT8 = 0x08,
  HIP_AD_FORMAT_SIGNED_INT16,
  HIP_AD_FORMAT_SIGNED_INT32,
  HIP_AD_FORMAT_HALF = 0x10,
  HIP_AD_FORMAT_FLOAT = 0x20,
};
struct HIP_ARRAY_DESCRIPTOR {
  std::size_t Width, Height;  // elements
  hipArray_Format Format;
  unsigned NumChannels;
};
struct HIP_ARRAY3D_DESCRIPTOR {
  std::size_t Width, Height, Depth;  // elements
  hipArray_Format Format;
  unsigned NumChannels, Flags;
};
struct hip_Memcpy2D {
  std::size_t srcXInBytes, srcY;
  hipMemoryType srcMemoryType;
  const void* srcHost;
  hipDeviceptr_t srcDevice;
  hipArray_t srcArray;
  std::size_t srcPitch;
  std::size_t dstXInBytes, dstY;
  hipMemoryType dstMemoryType;
  void* dstHost;
  hipDeviceptr_t dstDevice;
  hipArray_t dstArray;
  std::size_t dstPitch;
  std::size_t WidthInBytes, Height;
};
struct HIP_MEMCPY3D {
  std::size_t srcXInBytes, srcY, srcZ, srcLOD;
  hipMemoryType srcMemoryType;
  const void* srcHost;
  hipDeviceptr_t srcDevice;
  hipArray_t srcArray;
  std::size_t srcPitch, srcHeight;
  std::size_t dstXInBytes, dstY, dstZ, dstLOD;
  hipMemoryType dstMemoryType;
  void* dstHost;
  hipDeviceptr_t dstDevice;
  hipArray_t dstArray;
  std::size_t dstPitch, dstHeight;
  std::size_t WidthInBytes, Height, Depth;
};

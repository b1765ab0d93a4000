// Types by which host code describes textures, as libraries mention them. There are no textures on
// gfx942 and gfx950: hipCreateTextureObject() fails. Names and values are those of HIP 6.4.
#pragma once

#include "array_types.h"

using hipTextureObject_t = struct __hip_texture*;
using hipSurfaceObject_t = struct __hip_surface*;
using hipMipmappedArray_t = struct hipMipmappedArray*;

enum hipResourceType {
  hipResourceTypeArray,
  hipResourceTypeMipmappedArray,
  hipResourceTypeLinear,
  hipResourceTypePitch2D,
};
struct hipResourceDesc {
  hipResourceType resType;
  union {
    struct {
      hipArray_t array;
    } array;
    struct {
      hipMipmappedArray_t mipmap;
    } mipmap;
    struct {
      void* devPtr;
      hipChannelFormatDesc desc;
      std::size_t sizeInBytes;
    } linear;
    struct {
      void* devPtr;
      hipChannelFormatDesc desc;
      std::size_t width, height, pitchInBytes;
    } pitch2D;
  } res;
};
enum hipTextureAddressMode {
  hipAddressModeWrap,
  hipAddressModeClamp,
  hipAddressModeMirror,
  hipAddressModeBorder,
};
enum hipTextureFilterMode { hipFilterModePoint, hipFilterModeLinear };
enum hipTextureReadMode { hipReadModeElementType, hipReadModeNormalizedFloat };
struct hipTextureDesc {
  hipTextureAddressMode addressMode[3];
  hipTextureFilterMode filterMode;
  hipTextureReadMode readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned maxAnisotropy;
  hipTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
};

// The device's side of hip_runtime.h.
#pragma once

#include "device/atomics.h"
#include "device/bits.h"
#include "device/functions_f32.h"
#include "device/index.h"
#include "device/print.h"
#include "device/textures.h"
#include "device/wave.h"

// memcpy and memset of a kernel, which clang expands.
extern "C" {
__device__ inline __attribute__((weak)) void* memcpy(void* to, const void* from,
                                                           std::size_t bytes) {
  auto* out = static_cast<char*>(to);
  for (std::size_t k = 0; k < bytes; ++k) out[k] = static_cast<const char*>(from)[k];
  return to;
}
__device__ inline __attribute__((weak)) void* memset(void* to, int value, std::size_t bytes) {
  auto* out = static_cast<char*>(to);
  for (std::size_t k = 0; k < bytes; ++k) out[k] = static_cast<char>(value);
  return to;
}
}

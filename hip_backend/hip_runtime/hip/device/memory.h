// memcpy and memset of a kernel, and new and delete. There is no heap: new is refused by the
// compiler. A class with a virtual destructor needs delete nevertheless; to call it is a trap.
#pragma once

#include <cstddef>
#include <new>

extern "C" {
// The language declares operator new itself, and only a first declaration can refuse.
MLA_REFUSED("new in a kernel is not supported on the emulated device: there is no heap")
__device__ void* __mla_no_new(std::size_t bytes);
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

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Winline-new-delete"
__device__ inline void* operator new(std::size_t, void* place) noexcept {
  return place;
}
__device__ inline void* operator new[](std::size_t, void* place) noexcept {
  return place;
}
__device__ inline void* operator new(std::size_t bytes) {
  return __mla_no_new(bytes);
}
__device__ inline void* operator new[](std::size_t bytes) {
  return __mla_no_new(bytes);
}
__device__ inline void operator delete(void*) noexcept {
  __builtin_trap();
}
__device__ inline void operator delete[](void*) noexcept {
  __builtin_trap();
}
__device__ inline void operator delete(void*, std::size_t) noexcept {
  __builtin_trap();
}
__device__ inline void operator delete[](void*, std::size_t) noexcept {
  __builtin_trap();
}
// After a constructor that throws, which none does here.
__device__ inline void operator delete(void*, void*) noexcept {}
__device__ inline void operator delete[](void*, void*) noexcept {}
#pragma clang diagnostic pop

// A load of what no kernel writes meanwhile.
template <class T>
__device__ inline T __ldg(const T* from) {
  return *from;
}

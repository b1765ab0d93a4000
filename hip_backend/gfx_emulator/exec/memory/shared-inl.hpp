// Owns: reading and writing host memory that other workgroups may reach at the same time.
// Included once for each host path, like lanes-inl.hpp.
#pragma once

#include <cstdint>
#include <cstring>

#include "hip_backend/gfx_emulator/exec/lanes-inl.hpp"

namespace mla::gfx {
namespace {

// Who may touch the memory at the same time. A workgroup runs on one host thread, so its LDS and
// scratch are plain memory. What the device shares is reached by legal programs from several
// workgroups at once, one of them with an atomic: there every access of the host is atomic as well,
// relaxed, and as wide as the hardware reads at once (8 bytes at most).
enum class Shared : u8 { by_workgroup, by_device };

// Vector moves of x86 read and write each aligned dword whole, which C++ has no words for. The
// thread sanitizer sees the atomics that they stand for.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool vector_moves_are_atomic = false;
#elif defined(__has_feature)
inline constexpr bool vector_moves_are_atomic = !__has_feature(thread_sanitizer);
#else
inline constexpr bool vector_moves_are_atomic = true;
#endif
template <Shared shared>
inline constexpr bool by_vectors = shared == Shared::by_workgroup || vector_moves_are_atomic;

template <Shared shared, class T>
inline T read_at(const std::byte* from) {
  T value;
  if constexpr (shared == Shared::by_device) {
    if (reinterpret_cast<std::uintptr_t>(from) % sizeof(T) == 0) {
      return __atomic_load_n(reinterpret_cast<const T*>(from), __ATOMIC_RELAXED);
    }
    const auto* const bytes = reinterpret_cast<const u8*>(from);
    u8 copy[sizeof(T)];
    for (unsigned k = 0; k < sizeof(T); ++k) copy[k] = __atomic_load_n(bytes + k, __ATOMIC_RELAXED);
    std::memcpy(&value, copy, sizeof value);
  } else {
    std::memcpy(&value, from, sizeof value);
  }
  return value;
}

template <Shared shared, class T>
inline void write_at(std::byte* to, T value) {
  if constexpr (shared == Shared::by_device) {
    if (reinterpret_cast<std::uintptr_t>(to) % sizeof(T) == 0) {
      return __atomic_store_n(reinterpret_cast<T*>(to), value, __ATOMIC_RELAXED);
    }
    auto* const bytes = reinterpret_cast<u8*>(to);
    u8 copy[sizeof(T)];
    std::memcpy(copy, &value, sizeof value);
    for (unsigned k = 0; k < sizeof(T); ++k) __atomic_store_n(bytes + k, copy[k], __ATOMIC_RELAXED);
  } else {
    std::memcpy(to, &value, sizeof value);
  }
}

// One lane of `dwords` rows; pairs of dwords that are aligned to 8 bytes move at once.
template <Shared shared, unsigned dwords>
inline void read_lane(const std::byte* from, u32* to) {
  unsigned k = 0;
  if (dwords % 2 == 0 && reinterpret_cast<std::uintptr_t>(from) % 8 == 0) {
    for (; k < dwords; k += 2) {
      const u64 pair = read_at<shared, u64>(from + 4 * k);
      to[k * lanes] = static_cast<u32>(pair);
      to[(k + 1) * lanes] = static_cast<u32>(pair >> 32);
    }
  }
  for (; k < dwords; ++k) to[k * lanes] = read_at<shared, u32>(from + 4 * k);
}

template <Shared shared, unsigned dwords>
inline void write_lane(std::byte* to, const u32* from) {
  unsigned k = 0;
  if (dwords % 2 == 0 && reinterpret_cast<std::uintptr_t>(to) % 8 == 0) {
    for (; k < dwords; k += 2) {
      write_at<shared>(to + 4 * k, from[k * lanes] | u64{from[(k + 1) * lanes]} << 32);
    }
  }
  for (; k < dwords; ++k) write_at<shared>(to + 4 * k, from[k * lanes]);
}

}  // namespace
}  // namespace mla::gfx

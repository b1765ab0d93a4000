// KeyStage: brings one tile of keys from anywhere in the paged cache into LDS, one tile ahead.
//
// fetch() starts the loads of a tile, 16 bytes a thread at a time, and commit() finishes them in
// LDS; between the two another tile is worked on. On NVIDIA bf16 keys go straight to LDS
// (cp.async); everything else waits in registers, and fp8 keys that meet a bf16 query are converted
// on the way. rows[k] is the slot of key k, counted from the first one of the cache, or -1: then
// zeros, so that a probability of 0 meets no NaN. Offsets are 64-bit.
#pragma once

#include "hip_backend/kernels/gpu.hpp"
#include "hip_backend/kernels/numbers.hpp"

namespace mla::hip {

// E: element of the cache; M: element in LDS. A key is kDims elements, in LDS kPitch bytes.
template <class E, class M, int kDims, int kKeys, int kThreads, int kPitch>
class KeyStage {
  static constexpr int kPerRow = kDims * kElementBytes<E> / 16;
  static constexpr int kChunks = kKeys * kPerRow;
  static constexpr int kHeld = (kChunks + kThreads - 1) / kThreads;
  static constexpr bool kAsync = !MLA_AMD && sizeof(E) == sizeof(M);

 public:
  MLA_DEVICE_MEMBER void fetch(const void* cache, i64 row_bytes, const int* rows, char* lds) {
    const int thread = fresh(thread_id());
    MLA_UNROLL
    for (int i = 0; i < kHeld; ++i) {
      const int chunk = thread + i * kThreads;
      if (kChunks % kThreads != 0 && chunk >= kChunks) continue;
      const int row = rows[chunk / kPerRow];
      const int part = chunk % kPerRow;
      const char* from =
          static_cast<const char*>(cache) + (row < 0 ? 0 : row) * row_bytes + 16 * part;
      if constexpr (kAsync) {
        copy_async(lds + chunk / kPerRow * kPitch + 16 * part, from, row >= 0);
      } else {
        held_[i] = *reinterpret_cast<const Bytes16*>(from);
        if (row < 0) held_[i] = Bytes16{};
      }
    }
  }

  MLA_DEVICE_MEMBER void commit(char* lds, Fp8Code code) {
    if constexpr (kAsync) {
      wait_async();
    } else {
      store(lds, code);
    }
  }

 private:
  MLA_DEVICE_MEMBER void store(char* lds, Fp8Code code) const {
    const int thread = fresh(thread_id());
    MLA_UNROLL
    for (int i = 0; i < kHeld; ++i) {
      const int chunk = thread + i * kThreads;
      if (kChunks % kThreads != 0 && chunk >= kChunks) continue;
      char* to = lds + chunk / kPerRow * kPitch +
                 chunk % kPerRow * (16 / kElementBytes<E> * kElementBytes<M>);
      if constexpr (sizeof(E) == sizeof(M)) {
        *reinterpret_cast<Bytes16*>(to) = held_[i];
      } else {
        store_as_bf16<E>(to, held_[i], code);
        keep_order();  // or conversions pile up in registers
      }
    }
  }

#if MLA_AMD
  MLA_DEVICE_MEMBER static void copy_async(char*, const char*, bool) {}
  MLA_DEVICE_MEMBER static void wait_async() {}
#else
  MLA_DEVICE_MEMBER static void copy_async(char* to, const char* from, bool exists) {
    const u32 address = static_cast<u32>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(address), "l"(from), "r"(exists ? 16 : 0)
                 : "memory");
  }
  MLA_DEVICE_MEMBER static void wait_async() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#endif

  Bytes16 held_[kAsync ? 1 : kHeld];
};

}  // namespace mla::hip

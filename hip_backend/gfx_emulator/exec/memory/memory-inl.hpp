// Owns: moving data between lanes and the host memory they point at.
// Included once for each host path, like lanes-inl.hpp.
#pragma once

#include <algorithm>
#include <cstring>

#include "hip_backend/gfx_emulator/exec/lanes-inl.hpp"
#include "hip_backend/gfx_emulator/exec/memory/lds_access.hpp"
#include "hip_backend/gfx_emulator/exec/memory/shared-inl.hpp"
#include "hip_backend/gfx_emulator/exec/reporting.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#include <xmmintrin.h>
#endif

namespace mla::gfx {
namespace {

// Lane offsets that follow each other without gaps: one copy for all lanes.
inline bool consecutive(const u32* offset, u32 size) {
  u32 odd = 0;
  _Pragma("omp simd reduction(| : odd)") for (unsigned l = 0; l < lanes; ++l) {
    odd |= offset[l] ^ (offset[0] + size * l);
  }
  return odd == 0;
}

#if defined(__SSE2__)
inline __m128 two_pairs(const std::byte* low, const std::byte* high) {
  const __m128 first = _mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(low)));
  return _mm_loadh_pi(first, reinterpret_cast<const __m64*>(high));
}
#endif

// Rows of `dwords` registers from at(lane), all lanes. The rows may hold what at() reads: a lane is
// written only after its own at().
template <unsigned dwords, Shared shared, class At>
inline void gather_rows(At at, u32* to) {
#if defined(__SSE2__)
  if constexpr (by_vectors<shared> && (dwords == 4 || dwords == 2)) {
    for (unsigned l = 0; l < lanes; l += 4) {
      __m128 r[4];
      if constexpr (dwords == 4) {
        for (unsigned k = 0; k < 4; ++k) {
          r[k] = _mm_loadu_ps(reinterpret_cast<const float*>(at(l + k)));
        }
        _MM_TRANSPOSE4_PS(r[0], r[1], r[2], r[3]);
      } else {
        const __m128 low = two_pairs(at(l), at(l + 1)), high = two_pairs(at(l + 2), at(l + 3));
        r[0] = _mm_shuffle_ps(low, high, 0x88);
        r[1] = _mm_shuffle_ps(low, high, 0xdd);
      }
      for (unsigned k = 0; k < dwords; ++k) {
        _mm_store_ps(reinterpret_cast<float*>(to + k * lanes + l), r[k]);
      }
    }
    return;
  }
#endif
  for (unsigned l = 0; l < lanes; ++l) read_lane<shared, dwords>(at(l), to + l);
}

template <unsigned dwords, Shared shared, class At>
inline void scatter_rows(At at, const u32* from) {
#if defined(__SSE2__)
  if constexpr (by_vectors<shared> && dwords == 4) {
    for (unsigned l = 0; l < lanes; l += 4) {
      __m128 r[4];
      for (unsigned k = 0; k < 4; ++k) {
        r[k] = _mm_load_ps(reinterpret_cast<const float*>(from + k * lanes + l));
      }
      _MM_TRANSPOSE4_PS(r[0], r[1], r[2], r[3]);
      for (unsigned k = 0; k < 4; ++k) {
        _mm_storeu_ps(reinterpret_cast<float*>(at(l + k)), r[k]);
      }
    }
    return;
  }
#endif
  for (unsigned l = 0; l < lanes; ++l) write_lane<shared, dwords>(at(l), from + l);
}

// The common case: one base for all lanes, and an offset for each; nothing is masked.
struct Lanewise {
  std::byte* base = nullptr;
  const u32* offset = nullptr;
};

template <unsigned dwords, Shared shared = Shared::by_workgroup>
inline void load_lanewise(const Lanewise& from, u32* to) {
  if (by_vectors<shared> && dwords == 1 && consecutive(from.offset, 4)) {
    std::memcpy(to, from.base + from.offset[0], std::size_t{4} * lanes);
    return;
  }
  gather_rows<dwords, shared>([&](unsigned l) { return from.base + from.offset[l]; }, to);
}

template <unsigned dwords, Shared shared = Shared::by_workgroup>
inline void store_lanewise(const Lanewise& to, const u32* from) {
  if (by_vectors<shared> && dwords == 1 && consecutive(to.offset, 4)) {
    std::memcpy(to.base + to.offset[0], from, std::size_t{4} * lanes);
    return;
  }
  scatter_rows<dwords, shared>([&](unsigned l) { return to.base + to.offset[l]; }, from);
}

struct Extent {
  u32 low, high;
};
inline Extent extent_of(const u32* offset) {
  u32 low = offset[0], high = offset[0];
  _Pragma("omp simd reduction(min : low) reduction(max : high)") for (unsigned l = 0; l < lanes;
                                                                      ++l) {
    low = offset[l] < low ? offset[l] : low;
    high = offset[l] > high ? offset[l] : high;
  }
  return {low, high};
}

// LDS at address + offset for all lanes, where no check watches and nothing is out of bounds.
inline bool lds_lanewise(Wave& w, const u32* address, u32 offset, u32 size, Intent intent,
                         Lanewise& out) {
  Group& group = *w.group;
  if (group.watched || !all_lanes(w)) return false;
  if (u64{extent_of(address).high} + offset + size > group.lds_size) return false;
  count_access(group.statistics, intent, u64{lanes} * size, true);
  out = {group.lds.data() + offset, address};
  return true;
}

template <unsigned dwords, Shared shared = Shared::by_workgroup>
inline void load_rows(const LanePointers& p, u32* to) {
  if (p.active == ~u64{0}) {
    return gather_rows<dwords, shared>([&](unsigned l) { return p.at[l]; }, to);
  }
  for (unsigned l = 0; l < lanes; ++l) {
    if ((p.active >> l & 1) != 0) {
      read_lane<shared, dwords>(p.at[l], to + l);
    } else if ((p.zeroed >> l & 1) != 0) {
      for (unsigned k = 0; k < dwords; ++k) to[k * lanes + l] = 0;
    }
  }
}

template <unsigned dwords, Shared shared = Shared::by_workgroup>
inline void store_rows(const LanePointers& p, const u32* from) {
  if (p.active == ~u64{0}) {
    return scatter_rows<dwords, shared>([&](unsigned l) { return p.at[l]; }, from);
  }
  for (unsigned l = 0; l < lanes; ++l) {
    if ((p.active >> l & 1) == 0) continue;
    write_lane<shared, dwords>(p.at[l], from + l);
  }
}

enum class Place : u8 { whole, low, high };  // low and high keep the other half

// 8- and 16-bit loads: T with its sign, to a register or to one half of it.
template <class T, Place place, Shared shared = Shared::by_workgroup>
inline void load_small(const LanePointers& p, u32* to) {
  for (unsigned l = 0; l < lanes; ++l) {
    u32 value = 0;
    if ((p.active >> l & 1) != 0) {
      value = static_cast<u32>(static_cast<i32>(read_at<shared, T>(p.at[l])));
    } else if ((p.zeroed >> l & 1) == 0) {
      continue;
    }
    if (place == Place::whole) to[l] = value;
    if (place == Place::low) to[l] = (to[l] & 0xffff0000) | (value & 0xffff);
    if (place == Place::high) to[l] = (to[l] & 0xffff) | value << 16;
  }
}

template <class T, bool high, Shared shared = Shared::by_workgroup>
inline void store_small(const LanePointers& p, const u32* from) {
  for (unsigned l = 0; l < lanes; ++l) {
    if ((p.active >> l & 1) == 0) continue;
    write_at<shared>(p.at[l], static_cast<T>(high ? from[l] >> 16 : from[l]));
  }
}

// A read-modify-write of each lane in lane order; `old` receives what was there.
template <class T, class F>
inline void atomic_rows(const LanePointers& p, const u32* data, const u32* compare, u32* old) {
  constexpr bool wide = sizeof(T) == 8;
  using Bits = std::conditional_t<wide, u64, u32>;
  for (unsigned l = 0; l < lanes; ++l) {
    if ((p.active >> l & 1) == 0) continue;
    const T operand = from_words<T>(data[l], wide ? data[lanes + l] : 0);
    const T other =
        compare == nullptr ? T{} : from_words<T>(compare[l], wide ? compare[lanes + l] : 0);
    auto* const place = reinterpret_cast<Bits*>(p.at[l]);
    Bits before = __atomic_load_n(place, __ATOMIC_SEQ_CST), after{};
    do {
      after = std::bit_cast<Bits>(F{}(std::bit_cast<T>(before), operand, other));
    } while (!__atomic_compare_exchange_n(place, &before, after, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST));
    if (old == nullptr) continue;
    old[l] = static_cast<u32>(before);
    if constexpr (wide) old[lanes + l] = static_cast<u32>(before >> 32);
  }
}

// Atomics need natural alignment; others are dropped after a fault.
inline void require_alignment(Wave& w, const Inst& i, unsigned size, LanePointers& p) {
  for (unsigned l = 0; l < lanes; ++l) {
    if ((p.active >> l & 1) == 0) continue;
    const auto address = reinterpret_cast<u64>(p.at[l]);
    if (address % size == 0) continue;
    p.active &= ~(u64{1} << l);
    report_fault(w, i, Problem::misaligned, static_cast<int>(l), address,
                 "an atomic of " + std::to_string(size) + " bytes is not aligned");
  }
}

}  // namespace
}  // namespace mla::gfx

// Owns: what the atomics of LDS and of global memory compute. F(memory, data, compare) -> memory.
// Included once for each host path, like lanes-inl.hpp.
#pragma once

#include <algorithm>

#include "hip_backend/gfx_emulator/exec/float-inl.hpp"
#include "hip_backend/gfx_emulator/exec/memory/memory-inl.hpp"

namespace mla::gfx {
namespace {

struct AtomicSwap {
  template <class T>
  T operator()(T, T d, T) const {
    return d;
  }
};
struct AtomicCompareSwap {
  template <class T>
  T operator()(T m, T d, T c) const {
    return m == c ? d : m;
  }
};
struct AtomicAdd {
  template <class T>
  T operator()(T m, T d, T) const {
    return static_cast<T>(m + d);
  }
};
struct AtomicSub {
  template <class T>
  T operator()(T m, T d, T) const {
    return static_cast<T>(m - d);
  }
};
struct AtomicReverseSub {
  template <class T>
  T operator()(T m, T d, T) const {
    return static_cast<T>(d - m);
  }
};
struct AtomicMin {
  template <class T>
  T operator()(T m, T d, T) const {
    return d < m ? d : m;
  }
};
struct AtomicMax {
  template <class T>
  T operator()(T m, T d, T) const {
    return d > m ? d : m;
  }
};
struct AtomicAnd {
  template <class T>
  T operator()(T m, T d, T) const {
    return m & d;
  }
};
struct AtomicOr {
  template <class T>
  T operator()(T m, T d, T) const {
    return m | d;
  }
};
struct AtomicXor {
  template <class T>
  T operator()(T m, T d, T) const {
    return m ^ d;
  }
};
struct AtomicIncrement {
  template <class T>
  T operator()(T m, T d, T) const {
    return m >= d ? T{0} : m + 1;
  }
};
struct AtomicDecrement {
  template <class T>
  T operator()(T m, T d, T) const {
    return m == 0 || m > d ? d : m - 1;
  }
};
struct AtomicMaskOr {  // data: the mask; compare: the value
  template <class T>
  T operator()(T m, T d, T c) const {
    return (m & ~d) | c;
  }
};
struct AtomicWrap {  // data: where it wraps; compare: what is added below
  u32 operator()(u32 m, u32 d, u32 c) const { return m >= d ? m - d : m + c; }
};
// Each half of 32 bits by itself: its highest bit says whether the others are stored.
struct AtomicConditionalSwap {
  u64 operator()(u64 m, u64 d, u64) const {
    const auto half = [](u64 old, u64 value) {
      return (value >> 31 & 1) != 0 ? value & 0x7fffffff : old & 0xffffffff;
    };
    return half(m, d) | half(m >> 32, d >> 32) << 32;
  }
};
struct AtomicAddHalves {
  u32 operator()(u32 m, u32 d, u32) const {
    const auto sum = [&](unsigned shift) -> u32 {
      return to_half(to_float(Half{static_cast<u16>(m >> shift)}) +
                     to_float(Half{static_cast<u16>(d >> shift)}))
          .bits;
    };
    return sum(0) | sum(16) << 16;
  }
};
struct AtomicAddBrains {
  u32 operator()(u32 m, u32 d, u32) const {
    const u32 low = to_bf16(bf16_to_float(m) + bf16_to_float(d));
    const u32 high = to_bf16(float_of(m & 0xffff0000) + float_of(d & 0xffff0000));
    return low | high << 16;
  }
};

}  // namespace
}  // namespace mla::gfx

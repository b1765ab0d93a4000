// Owns: running a scalar function over the 64 lanes of a wave. Included once for each host path:
// everything lives in an unnamed namespace, so that no function compiled for a newer instruction
// set can take the place of one compiled for the baseline.
//
// Operations are lambdas without captures over float, double, Half, and integers of 16, 32 and 64
// bits; a handler is made from the type of the lambda.
#pragma once

#include <bit>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "hip_backend/gfx_emulator/exec/handlers.hpp"
#include "hip_backend/gfx_emulator/exec/operand.hpp"
#include "hip_backend/gfx_emulator/exec/wave.hpp"

#define MLA_GFX_LANES _Pragma("omp simd") for (unsigned l = 0; l < lanes; ++l)

namespace mla::gfx {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

struct Half {
  u16 bits;
};

template <class T>
constexpr Kind kind_of() {
  if constexpr (std::is_same_v<T, float>) return Kind::f32;
  if constexpr (std::is_same_v<T, double>) return Kind::f64;
  if constexpr (std::is_same_v<T, Half>) return Kind::f16;
  if constexpr (std::is_same_v<T, i64>) return Kind::i64;
  if constexpr (sizeof(T) == 8) return Kind::b64;
  if constexpr (sizeof(T) == 2) return Kind::b16;
  return Kind::b32;
}

template <class T>
inline T from_words(u32 low, u32 high) {
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(low);
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(low | u64{high} << 32);
  else if constexpr (std::is_same_v<T, Half>)
    return Half{static_cast<u16>(low)};
  else if constexpr (sizeof(T) == 8)
    return static_cast<T>(low | u64{high} << 32);
  else
    return static_cast<T>(low);
}

template <class T>
inline void to_words(T value, u32& low, [[maybe_unused]] u32& high) {
  if constexpr (std::is_same_v<T, float>) {
    low = std::bit_cast<u32>(value);
  } else if constexpr (std::is_same_v<T, Half>) {
    low = value.bits;
  } else if constexpr (sizeof(T) == 8) {
    const auto bits = std::bit_cast<u64>(value);
    low = static_cast<u32>(bits);
    high = static_cast<u32>(bits >> 32);
  } else if constexpr (sizeof(T) == 2) {
    low = static_cast<u16>(value);
  } else {
    low = static_cast<u32>(value);
  }
}

// Source `k` as T: the register itself, or a copy made by fetch().
template <class T>
struct Source {
  const u32* low;
  alignas(64) u32 buffer[sizeof(T) == 8 ? 2 * lanes : lanes];

  Source(Wave& w, const Inst& i, unsigned k) {
    if ((i.slow >> k & 1) == 0) {
      low = w.reg(i.src[k]);
      return;
    }
    low = buffer;
    if (sizeof(T) == 4 && (i.spread >> k & 1) != 0) {
      const u32 value = read_scalar(w, i, i.src[k]);
      MLA_GFX_LANES {
        buffer[l] = value;
      }
    } else {
      fetch(w, i, k, kind_of<T>(), buffer);
    }
  }
  T operator[](unsigned l) const {
    return from_words<T>(low[l], sizeof(T) == 8 ? low[lanes + l] : 0);
  }
};

inline bool all_lanes(const Wave& w) {
  return w.exec() == ~u64{0};
}

// Writes value(l) of every lane to the destination.
template <class R, bool keep_high, class F>
inline void store_lanes(Wave& w, const Inst& i, F value) {
  constexpr bool narrow = sizeof(R) == 2;
  if (all_lanes(w) && !i.post && !(narrow && keep_high)) {
    u32* const to = w.reg(i.dst);
    MLA_GFX_LANES {
      to_words<R>(value(l), to[l], to[(sizeof(R) == 8 ? lanes : 0) + l]);
    }
    return;
  }
  alignas(64) u32 out[2 * lanes];
  MLA_GFX_LANES {
    to_words<R>(value(l), out[l], out[lanes + l]);
  }
  if (i.post || narrow) return finish(w, i, kind_of<R>(), keep_high, out);
  const u32* const mask = lane_mask(w);
  u32* const to = w.reg(i.dst);
  MLA_GFX_LANES {
    to[l] = (out[l] & mask[l]) | (to[l] & ~mask[l]);
  }
  if constexpr (sizeof(R) == 8) {
    MLA_GFX_LANES {
      to[lanes + l] = (out[lanes + l] & mask[l]) | (to[lanes + l] & ~mask[l]);
    }
  }
}

template <class F>
struct Signature;
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> {
  using Result = R;
  static constexpr std::size_t count = sizeof...(A);
  static constexpr bool any_double =
      (std::is_same_v<R, double> || ... || std::is_same_v<A, double>);
  template <std::size_t k>
  using Argument = std::tuple_element_t<k, std::tuple<A...>>;
};

template <class F, bool keep_high>
void run_lanes(Wave& w, const Inst& i) {
  using S = Signature<decltype(&F::operator())>;
  using R = typename S::Result;
  const Source<typename S::template Argument<0>> a(w, i, 0);
  if constexpr (S::count == 1) {
    store_lanes<R, keep_high>(w, i, [&](unsigned l) { return F{}(a[l]); });
  } else if constexpr (S::count == 2) {
    const Source<typename S::template Argument<1>> b(w, i, 1);
    store_lanes<R, keep_high>(w, i, [&](unsigned l) { return F{}(a[l], b[l]); });
  } else {
    const Source<typename S::template Argument<1>> b(w, i, 1);
    const Source<typename S::template Argument<2>> c(w, i, 2);
    store_lanes<R, keep_high>(w, i, [&](unsigned l) { return F{}(a[l], b[l], c[l]); });
  }
}

template <class F>
constexpr Handler each_lane(F) {
  return [](Wave& w, const Inst& i) {
    if constexpr (Signature<decltype(&F::operator())>::any_double) {
      keep_denormals(w);
      run_lanes<F, false>(w, i);
    } else {
      run_lanes<F, false>(w, i);
    }
  };
}

// 16-bit operations with three sources keep the upper half of their destination.
template <class F>
constexpr Handler each_lane_keeping_high(F) {
  return run_lanes<F, true>;
}

// Integer operations whose clamp bit saturates.
template <class F, class G>
constexpr Handler each_lane_saturating(F, G) {
  return [](Wave& w, const Inst& i) {
    if (!i.clamp) return run_lanes<F, false>(w, i);
    run_lanes<G, false>(w, i);
  };
}

}  // namespace
}  // namespace mla::gfx

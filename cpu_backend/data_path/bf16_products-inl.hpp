// Bf16Products: scores and weighted values of a tile by vdpbf16ps, two products for each
// instruction.
//
// Part of the text of a data path, see path-inl.hpp. Every operand is a bf16 number: those of the
// cache and of Q, an fp8 number, a rounded probability. vdpbf16ps adds the product of the upper
// halves of its words and then that of the lower halves, each with one rounding to nearest even, as
// two multiply-adds do: results are the bits of F32Products. But it takes subnormal operands for 0,
// so a job that has one is refused; and it flushes subnormal sums (docs/reference/numerics.md,
// "Flushing").
//
// Q is [strip][pair of dims][row]; keys are rows of bf16, values [16 dims][entry][dim], so that the
// sums of some dims read one cache line after the other. An entry holds one key in its upper half
// and the next, or 0, in its lower. Keys that some row does not see have an entry each.
#pragma once

#include "cpu_backend/data_path/tile-inl.hpp"

namespace mla::cpu {
namespace MLA_PATH_NAMESPACE {

typedef std::uint16_t Halves __attribute__((vector_size(MLA_PATH_BYTES), may_alias, aligned(2)));
constexpr std::int64_t kHalves = MLA_PATH_BYTES / 2;

// The upper half of a float.
constexpr std::uint16_t upper_half(float x) {
  return static_cast<std::uint16_t>(__builtin_bit_cast(std::uint32_t, x) >> 16);
}

// kHalves elements as bf16. e4m3 codes by exponent and mantissa as decode_e4m3 has them; its
// subnormal numbers come from a table.
template <ElementKind kKind>
static inline Halves halves_of(const std::byte* row, std::int64_t d) {
  if constexpr (kKind == ElementKind::bf16) {
    return *reinterpret_cast<const Halves*>(row + 2 * d);
  } else {
    constexpr bool fn = kKind == ElementKind::e4m3fn;
    constexpr float least = fn ? 0x1p-9F : 0x1p-10F;
    static constexpr Halves subnormal = {0,
                                         upper_half(1 * least),
                                         upper_half(2 * least),
                                         upper_half(3 * least),
                                         upper_half(4 * least),
                                         upper_half(5 * least),
                                         upper_half(6 * least),
                                         upper_half(7 * least)};
    const __m512i code =
        _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + d)));
    const Halves bits = reinterpret_cast<Halves>(code);
    const Halves magnitude = (bits & 0x7F) << 4;
    const Halves small = reinterpret_cast<Halves>(
        _mm512_permutexvar_epi16(code, reinterpret_cast<__m512i>(subnormal)));
    constexpr std::uint16_t rebias = (fn ? 120 : 119) << 7;
    const Halves value = magnitude < 0x80 ? small : magnitude + rebias;
    const auto nan = fn ? magnitude == 0x7F0 : bits == 0x80;
    return value | ((bits & 0x80) << 8) | reinterpret_cast<Halves>(nan);
  }
}

// Those of a row of `dims` elements: zeros after its last one, past which nothing is read.
template <ElementKind kKind>
static inline Halves some_halves(const std::byte* row, std::int64_t d, std::int64_t dims) {
  if (d + kHalves <= dims) return halves_of<kKind>(row, d);
  constexpr std::int64_t size = kKind == ElementKind::bf16 ? 2 : 1;
  std::byte rest[kHalves * size] = {};
  __builtin_memcpy(rest, row + d * size, static_cast<std::size_t>((dims - d) * size));
  return halves_of<kKind>(rest, 0);
}

// Finds out whether there was a subnormal number among bf16 numbers.
struct Subnormals {
  Halves least = ~Halves{};
  void look(Halves x) {
    const Halves t = x + x - 2;  // 0 becomes the largest number, a subnormal one at most 252
    least = t < least ? t : least;
  }
  [[nodiscard]] bool any() const {
    return _mm512_cmplt_epu16_mask(reinterpret_cast<__m512i>(least), _mm512_set1_epi16(254)) != 0;
  }
};

static inline Vec dot_pairs(Vec acc, Bits a, Bits b) {
  return reinterpret_cast<Vec>(_mm512_dpbf16_ps(
      reinterpret_cast<__m512>(acc), reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b)));
}

struct Bf16Products {
  static constexpr std::int64_t kKeyPitch = 608;  // halves: an odd number of cache lines
  static constexpr std::int64_t kGroup = 16;      // dims of a cache line of values
  static constexpr std::int64_t kGroupPitch = (kTileKeys + 1) * kGroup;  // words: likewise
  static constexpr std::int64_t kPairs = kKey / 2;
  struct Scratch : State {
    alignas(64) std::uint32_t q[kMaxAttendRows * kPairs];
    alignas(64) std::uint16_t keys[kTileKeys * kKeyPitch];
    alignas(64) std::uint32_t values[kValue / kGroup * kGroupPitch];
    alignas(64) std::uint32_t weights[kTileKeys * 2 * kLanes];  // of one strip: [entry][row]
  };

  template <int kVecs>
  static bool load_q(const AttendJob& job, std::int64_t first, Scratch& s) {
    constexpr std::int64_t pitch = kVecs * kLanes;
    std::uint32_t* q = s.q + first * kPairs;
    Subnormals found;
    with_kind(job.q_kind, [&]<ElementKind kKind>() {
      for (std::int64_t lane = 0; lane < pitch; lane += kLanes) {
        for (std::int64_t d = 0; d < job.key_dims; d += kHalves) {
          Vec x[kLanes];
          for (std::int64_t r = 0; r < kLanes; ++r) {
            const std::int64_t row = first + lane + r;
            const Halves h = row < job.row_count
                                 ? some_halves<kKind>(job.rows[row].q, d, job.key_dims)
                                 : Halves{};
            found.look(h);
            x[r] = reinterpret_cast<Vec>(h);
          }
          transpose(x);
          for (std::int64_t i = 0; i < kLanes; ++i)
            store(reinterpret_cast<float*>(q + (d / 2 + i) * pitch + lane), x[i]);
        }
      }
    });
    return !found.any();
  }

  static std::int64_t entries(const Tile& tile) { return tile.n - tile.full / 2; }
  // First key of an entry.
  static std::int64_t key_of(const Tile& tile, std::int64_t entry) {
    const std::int64_t pairs = tile.full / 2;
    return entry < pairs ? 2 * entry : entry + pairs;
  }

  static bool load_keys(const AttendJob& job, const Tile& tile, Scratch& s) {
    Subnormals found;
    const std::int64_t whole = job.key_dims / kHalves * kHalves;
    with_kind(job.kv_kind, [&]<ElementKind kKind>() {
      for (std::int64_t k = 0; k < tile.n; ++k) {
        const auto keep = [&](std::int64_t d, Halves h) {
          if constexpr (kKind == ElementKind::bf16) found.look(h);
          *reinterpret_cast<Halves*>(s.keys + k * kKeyPitch + d) = h;
        };
        const std::byte* row = job.keys[tile.base + k];
        for (std::int64_t d = 0; d < whole; d += kHalves) keep(d, halves_of<kKind>(row, d));
        if (whole < job.key_dims) keep(whole, some_halves<kKind>(row, whole, job.key_dims));
      }
    });
    if (found.any()) return false;
    for (std::int64_t e = 0; e < entries(tile); ++e)
      pair_values(s, key_of(tile, e), e < tile.full / 2, s.values + e * kGroup);
    return true;
  }

  static void pair_values(const Scratch& s, std::int64_t key, bool two, std::uint32_t* to) {
    alignas(64) static constexpr std::uint16_t kLower[32] = {
        0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
        8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
    const __m512i lower = _mm512_load_si512(kLower);
    const __m512i upper = _mm512_add_epi16(lower, _mm512_set1_epi16(16));
    const std::uint16_t* a = s.keys + key * kKeyPitch;
    for (std::int64_t d = 0; d < s.value_dims; d += kHalves) {
      const __m512i x = _mm512_load_si512(a + d);
      const __m512i y = two ? _mm512_load_si512(a + kKeyPitch + d) : _mm512_setzero_si512();
      std::uint32_t* group = to + d / kGroup * kGroupPitch;
      _mm512_store_si512(group, _mm512_permutex2var_epi16(y, lower, x));
      _mm512_store_si512(group + kGroupPitch, _mm512_permutex2var_epi16(y, upper, x));
    }
  }

  template <int kVecs, int kKeys>
  static void add_scores(const Scratch& s, std::int64_t first, std::int64_t key, std::int64_t dim,
                         NextKeys& next, Vec (&acc)[kKeys][kVecs]) {
    constexpr std::int64_t pitch = kVecs * kLanes;
    const std::uint32_t* q = s.q + first * kPairs;
    const auto* keys = reinterpret_cast<const Word*>(s.keys + key * kKeyPitch);
    const auto add = [&](std::int64_t pairs) __attribute__((always_inline)) {
      for (std::int64_t pair = dim / 2; pair < dim / 2 + pairs; ++pair) {
        next.step();
        Bits qd[kVecs];
        for (int v = 0; v < kVecs; ++v)
          qd[v] = *reinterpret_cast<const Bits*>(q + pair * pitch + v * kLanes);
        MLA_UNROLL
        for (int k = 0; k < kKeys; ++k) {
          const Bits x = Bits{} + keys[k * kKeyPitch / 2 + pair];
          for (int v = 0; v < kVecs; ++v) acc[k][v] = dot_pairs(acc[k][v], x, qd[v]);
        }
      }
    };
    // The number of a whole block is known to the compiler.
    const std::int64_t left = s.key_dims - dim;
    if (left >= kDimBlock)
      add(kDimBlock / 2);
    else
      add(left / 2);
  }

  template <int kVecs>
  static void take_weights(const Tile& tile, Scratch& s) {
    constexpr std::int64_t pitch = kVecs * kLanes;
    for (std::int64_t e = 0; e < entries(tile); ++e) {
      const float* p = s.scores + key_of(tile, e) * pitch;
      for (std::int64_t row = 0; row < pitch; row += kLanes) {
        Bits word = as_bits(load(p + row));
        if (e < tile.full / 2) word |= as_bits(load(p + pitch + row)) >> 16;
        *reinterpret_cast<Bits*>(s.weights + e * pitch + row) = word;
      }
    }
  }

  template <int kVecs, int kDims>
  static void add_values(const Scratch& s, const Tile& tile, const std::int32_t* visible,
                         std::int64_t dim, NextKeys& next, Vec (&acc)[kDims][kVecs]) {
    constexpr std::int64_t pitch = kVecs * kLanes;
    static_assert(kGroup % kDims == 0);
    const std::uint32_t* values = s.values + dim / kGroup * kGroupPitch + dim % kGroup;
    const std::int64_t seen_by_all = (tile.full + 1) / 2;
    for (std::int64_t e = 0; e < seen_by_all; ++e) {
      next.step();
      Bits p[kVecs];
      for (int v = 0; v < kVecs; ++v)
        p[v] = *reinterpret_cast<const Bits*>(s.weights + e * pitch + v * kLanes);
      MLA_UNROLL
      for (int d = 0; d < kDims; ++d) {
        const Bits x = Bits{} + values[e * kGroup + d];
        for (int v = 0; v < kVecs; ++v) acc[d][v] = dot_pairs(acc[d][v], x, p[v]);
      }
    }
    for (std::int64_t e = seen_by_all; e < entries(tile); ++e) {
      for (int v = 0; v < kVecs; ++v) {
        const Bits p = *reinterpret_cast<const Bits*>(s.weights + e * pitch + v * kLanes);
        const Int seen = seen_by(visible + v * kLanes, tile.base + key_of(tile, e));
        MLA_UNROLL
        for (int d = 0; d < kDims; ++d) {
          const Vec sum = dot_pairs(acc[d][v], Bits{} + values[e * kGroup + d], p);
          acc[d][v] = seen ? sum : acc[d][v];
        }
      }
    }
  }

 private:
  typedef std::uint32_t Word __attribute__((may_alias));
};

}  // namespace MLA_PATH_NAMESPACE
}  // namespace mla::cpu

// Owns: the layouts of the matrix instructions and the multiplication of unpacked tiles.
// Included once for each host path, like lanes-inl.hpp.
//
// Layouts (AMD matrix instruction calculator): A and B of M rows: row lane % M; the E = M * K *
// blocks / 64 elements of a lane are k = E * (lane / M) + e, or, where there are several blocks,
// the K elements of block lane / M. C and D: column lane % M; M = 16: register 4 * block + r holds
// row 4 * (lane / 16) + r; M = 32: register 16 * block + r holds row 8 * (r / 4) + 4 * (lane / 32)
// + r % 4; M = 4: register r holds row r of block lane / 4.
#pragma once

#include <algorithm>

#include "hip_backend/gfx_emulator/exec/fp8-inl.hpp"
#include "hip_backend/gfx_emulator/exec/launch_state.hpp"
#include "hip_backend/gfx_emulator/exec/matrix_exact-inl.hpp"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

namespace mla::gfx {
namespace {

// Source formats: how many elements a register holds, and element e of a register as a number.
struct F32 {
  using Number = float;
  static constexpr unsigned in_register = 1, exact_group = 0;
  static constexpr int lowest = -126;
  static float get(u32 word, unsigned) { return float_of(word); }
};
struct Xf32 : F32 {
  static constexpr unsigned exact_group = 4;
  static float get(u32 word, unsigned) { return float_of(word & 0xffffe000); }
};
struct Bf16 {
  using Number = float;
  static constexpr unsigned in_register = 2, exact_group = 8;
  static constexpr int lowest = -126;
  static float get(u32 word, unsigned e) { return float_of(e == 0 ? word << 16 : word & ~0xffffU); }
};
struct F16 {
  using Number = float;
  static constexpr unsigned in_register = 2, exact_group = 8;
  static constexpr int lowest = -14;
  static float get(u32 word, unsigned e) {
    return to_float(Half{static_cast<u16>(word >> 16 * e)});
  }
};
struct I8 {
  using Number = i32;
  static constexpr unsigned in_register = 4, exact_group = 0;
  static constexpr int lowest = 0;
  static i32 get(u32 word, unsigned e) { return static_cast<i32>(word << (24 - 8 * e)) >> 24; }
};
template <Fp8 kind>
struct Float8 {
  using Number = float;
  static constexpr unsigned in_register = 4, exact_group = 16;
  static constexpr Fp8 name = kind;
  static constexpr Fp8Format format = format_of(kind);
  static constexpr int lowest = 1 - format.bias;
  // The bits at the place of an f32, then a product with a power of two: denormals come for free.
  static float get(u32 word, unsigned e) {
    const u32 byte = word >> 8 * e & 0xff, magnitude = byte & 0x7f;
    const u32 placed = (byte & 0x80) << 24 | magnitude << (23 - format.fraction_bits);
    const float value = float_of(placed) * float_of(static_cast<u32>(254 - format.bias) << 23);
    const bool infinite =
        !format.fnuz && format.overflow != format.nan && magnitude == format.overflow;
    const u32 beyond = infinite ? 0x7f800000 | (byte & 0x80) << 24 : 0x7fc00000;
    const bool odd = format.fnuz ? byte == 0x80 : magnitude > format.largest;
    return odd ? float_of(beyond) : value;
  }
};

template <unsigned m, unsigned k, unsigned blocks_>
struct Shape {
  static constexpr unsigned rows = m, depth = k, blocks = blocks_;
  static constexpr unsigned each = m * k * blocks_ / lanes;  // elements of a lane
  static constexpr unsigned result = m * m * blocks_ / lanes;
};

inline void count_flops(Wave& w, MatrixType type, u64 multiplications) {
  w.group->statistics.matrix_flops[static_cast<std::size_t>(type)] += 2 * multiplications;
}
template <class Format>
constexpr MatrixType matrix_type() {
  if (Format::in_register == 4) return MatrixType::byte;
  if (Format::in_register == 2) return MatrixType::half;
  return std::is_same_v<Format, Xf32> ? MatrixType::xf32 : MatrixType::f32;
}

template <class S, class Number>
struct Tiles {
  alignas(64) Number values[S::blocks][S::depth][S::rows];
};

// Where the lanes of B come from (BLGP), for the shapes that have it.
inline unsigned swizzled(unsigned lane, unsigned blgp) {
  switch (blgp) {
    case 1:
      return lane % 32;
    case 2:
      return lane % 32 + 32;
    case 3:
      return (lane + 16) % 64;
    case 0:
      return lane;
    default:
      return lane % 16 + 16 * (blgp - 4);
  }
}

template <class S, class Format>
inline void unpack(const u32* first, unsigned blgp, Tiles<S, typename Format::Number>& out) {
  constexpr unsigned groups = lanes / S::rows;
  for (unsigned e = 0; e < S::each; ++e) {
    const u32* word = first + e / Format::in_register * lanes;
    alignas(64) u32 moved[lanes];
    if (blgp != 0) {
      for (unsigned l = 0; l < lanes; ++l) moved[l] = word[swizzled(l, blgp)];
      word = moved;
    }
    for (unsigned g = 0; g < groups; ++g) {
      const unsigned block = S::blocks == 1 ? 0 : g, k = S::blocks == 1 ? g * S::each + e : e;
      auto* const to = out.values[block][k];
      _Pragma("omp simd") for (unsigned i = 0; i < S::rows; ++i) {
        to[i] = Format::get(word[g * S::rows + i], e % Format::in_register);
      }
    }
  }
}

// CBSZ and ABID: one block of A serves a group of 2^cbsz blocks.
template <class S>
inline unsigned source_block(unsigned block, unsigned cbsz, unsigned abid) {
  const unsigned group = ((1U << cbsz) - 1) & (S::blocks - 1);
  return (block & ~group) | (abid & group);
}

// Four rows and sixteen columns: d[r][n] = c[r][n] + sum over k of a[k][r] * b[k][n].
template <unsigned depth, unsigned stride>
inline void multiply_tile(const float* a, const float* b, const u32* const c[4], u32* const d[4]) {
#if defined(__AVX2__) && defined(__FMA__)
  __m256 sum[4][2];
  for (unsigned r = 0; r < 4; ++r) {
    sum[r][0] = _mm256_loadu_ps(reinterpret_cast<const float*>(c[r]));
    sum[r][1] = _mm256_loadu_ps(reinterpret_cast<const float*>(c[r] + 8));
  }
  for (unsigned k = 0; k < depth; ++k) {
    const __m256 b0 = _mm256_load_ps(b + k * stride), b1 = _mm256_load_ps(b + k * stride + 8);
    for (unsigned r = 0; r < 4; ++r) {
      const __m256 factor = _mm256_broadcast_ss(a + k * stride + r);
      sum[r][0] = _mm256_fmadd_ps(factor, b0, sum[r][0]);
      sum[r][1] = _mm256_fmadd_ps(factor, b1, sum[r][1]);
    }
  }
  for (unsigned r = 0; r < 4; ++r) {
    _mm256_storeu_ps(reinterpret_cast<float*>(d[r]), sum[r][0]);
    _mm256_storeu_ps(reinterpret_cast<float*>(d[r] + 8), sum[r][1]);
  }
#else
  for (unsigned r = 0; r < 4; ++r) {
    for (unsigned n = 0; n < 16; ++n) {
      float sum = float_of(c[r][n]);
      for (unsigned k = 0; k < depth; ++k) {
        sum = __builtin_fmaf(a[k * stride + r], b[k * stride + n], sum);
      }
      d[r][n] = bits_of(sum);
    }
  }
#endif
}

template <unsigned depth, unsigned stride>
inline void multiply_tile(const i32* a, const i32* b, const u32* const c[4], u32* const d[4]) {
  for (unsigned r = 0; r < 4; ++r) {
    u32 sum[16];
    std::copy_n(c[r], 16, sum);
    for (unsigned k = 0; k < depth; ++k) {
      for (unsigned n = 0; n < 16; ++n) {
        sum[n] += static_cast<u32>(a[k * stride + r] * b[k * stride + n]);
      }
    }
    std::copy_n(sum, 16, d[r]);
  }
}

#if defined(__AVX2__) && defined(__FMA__)
// The same straight from registers of two bf16 each: a number is the upper or lower half of a word.
template <class S>
inline void multiply_brain_tile(const u32* a, const u32* b, const u32* const c[4],
                                u32* const d[4]) {
  const __m256i upper = _mm256_set1_epi32(static_cast<i32>(0xffff0000));
  const auto high = [&](__m256i words) {
    return _mm256_castsi256_ps(_mm256_and_si256(words, upper));
  };
  const auto low = [](__m256i words) { return _mm256_castsi256_ps(_mm256_slli_epi32(words, 16)); };
  const auto at = [](const u32* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  };
  __m256 sum[4][2];
  for (unsigned r = 0; r < 4; ++r) {
    sum[r][0] = _mm256_castsi256_ps(at(c[r]));
    sum[r][1] = _mm256_castsi256_ps(at(c[r] + 8));
  }
  for (unsigned g = 0; g < lanes / S::rows; ++g) {
    for (unsigned e = 0; e < S::each / 2; ++e) {  // registers: k ascends by two
      const u32* const left = a + e * lanes + g * S::rows;
      const u32* const right = b + e * lanes + g * S::rows;
      const __m256i b0 = at(right), b1 = at(right + 8);
      for (unsigned r = 0; r < 4; ++r) {
        const __m256 factor = low(_mm256_set1_epi32(static_cast<i32>(left[r])));
        sum[r][0] = _mm256_fmadd_ps(factor, low(b0), sum[r][0]);
        sum[r][1] = _mm256_fmadd_ps(factor, low(b1), sum[r][1]);
      }
      for (unsigned r = 0; r < 4; ++r) {
        const __m256 factor = high(_mm256_set1_epi32(static_cast<i32>(left[r])));
        sum[r][0] = _mm256_fmadd_ps(factor, high(b0), sum[r][0]);
        sum[r][1] = _mm256_fmadd_ps(factor, high(b1), sum[r][1]);
      }
    }
  }
  for (unsigned r = 0; r < 4; ++r) {
    _mm256_storeu_ps(reinterpret_cast<float*>(d[r]), sum[r][0]);
    _mm256_storeu_ps(reinterpret_cast<float*>(d[r] + 8), sum[r][1]);
  }
}
#endif

// Calls tile(block, row, column, register, lane) for every tile of four rows and sixteen columns.
template <class S, class F>
inline void for_tiles(F tile) {
  constexpr unsigned groups = lanes / S::rows, registers = S::result / S::blocks;
  for (unsigned block = 0; block < S::blocks; ++block) {
    for (unsigned r = 0; r < registers; r += 4) {
      for (unsigned g = 0; g < groups; ++g) {
        const unsigned row = S::rows == 16 ? 4 * g : 8 * (r / 4) + 4 * g;
        for (unsigned column = 0; column < S::rows; column += 16) {
          tile(block, row, column, block * registers + r, g * S::rows + column);
        }
      }
    }
  }
}

template <class S, class FA, class FB>
inline ExactSources exact_sources(const float* a, const float* b) {
  static_assert(S::depth <= kDeepest);
  return {.a = a,
          .b = b,
          .stride = S::rows,
          .depth = S::depth,
          .group = std::min(FA::exact_group, S::depth),
          .lowest_a = FA::lowest,
          .lowest_b = FB::lowest,
          .kind = FA::exact_group == 16 ? ExactKind::fp8 : ExactKind::wide};
}

// Whether the result takes registers that a source still needs.
inline bool overlaps(const Inst& i, unsigned k) {
  const unsigned from = i.src[k], to = i.dst;
  return from < to + i.width[0] && to < from + i.width[k + 1];
}

// The accumulator: registers, or a constant spread over all of them. The result may take some of
// its registers, shifted (compilers do that where it has four): then a copy.
template <unsigned registers>
struct Accumulator {
  const u32* first;
  alignas(64) u32 buffer[registers * lanes];
  Accumulator(Wave& w, const Inst& i) {
    if (i.src[2] < code::vgpr) {
      std::fill_n(buffer, registers * lanes, read_scalar(w, i, i.src[2]));
      first = buffer;
    } else if (i.src[2] != i.dst && overlaps(i, 2)) {
      std::copy_n(w.reg(i.src[2]), registers * lanes, buffer);
      first = buffer;
    } else {
      first = w.reg(i.src[2]);
    }
  }
};

inline bool wants_exact(const Wave& w) {
  return w.group->launch->request->options.mfma == MfmaMode::exact;
}

// 4x4 has sixteen blocks of four lanes: each lane is a column.
template <class S, class FA, class FB, class Number>
inline void multiply_small(const Tiles<S, Number>& a, const Tiles<S, Number>& b, const Inst& i,
                           bool exact, const u32* c, u32* d) {
  for (unsigned l = 0; l < lanes; ++l) {
    const auto& left = a.values[source_block<S>(l / 4, i.cbsz, i.abid)];
    const auto& right = b.values[l / 4];
    for (unsigned r = 0; r < 4; ++r) {
      u32& to = d[r * lanes + l];
      const u32 from = c[r * lanes + l];
      if constexpr (std::is_same_v<Number, i32>) {
        u32 sum = from;
        for (unsigned k = 0; k < S::depth; ++k) {
          sum += static_cast<u32>(left[k][r] * right[k][l % 4]);
        }
        to = sum;
      } else {
        float sum = float_of(from);
        if (exact) {
          sum = exact_element(exact_sources<S, FA, FB>(&left[0][r], &right[0][l % 4]), sum);
        } else {
          for (unsigned k = 0; k < S::depth; ++k) {
            sum = __builtin_fmaf(left[k][r], right[k][l % 4], sum);
          }
        }
        to = bits_of(sum);
      }
    }
  }
}

template <class S, class FA, class FB>
inline void multiply(Wave& w, const Inst& i, const Tiles<S, typename FA::Number>& a,
                     const Tiles<S, typename FB::Number>& b) {
  const Accumulator<S::result> accumulator(w, i);
  const u32* const c = accumulator.first;
  u32* const d = w.reg(i.dst);
  const bool exact = FA::exact_group != 0 && wants_exact(w);
  if constexpr (S::rows == 4) {
    multiply_small<S, FA, FB>(a, b, i, exact, c, d);
    return;
  } else {
    for_tiles<S>([&](unsigned block, unsigned row, unsigned column, unsigned reg, unsigned lane) {
      const auto* left = &a.values[source_block<S>(block, i.cbsz, i.abid)][0][row];
      const auto* right = &b.values[block][0][column];
      const u32* from[4];
      u32* to[4];
      for (unsigned r = 0; r < 4; ++r) {
        from[r] = c + (reg + r) * lanes + lane;
        to[r] = d + (reg + r) * lanes + lane;
      }
      if constexpr (FA::exact_group != 0) {
        if (exact) {
          exact_tile(exact_sources<S, FA, FB>(left, right), from, to);
          return;
        }
      }
      multiply_tile<S::depth, S::rows>(left, right, from, to);
    });
  }
}

#if defined(__AVX2__) && defined(__FMA__)
template <class S>
void multiply_brains(Wave& w, const Inst& i) {
  const Accumulator<S::result> accumulator(w, i);
  const u32* const a = w.reg(i.src[0]);
  const u32* const b = w.reg(i.src[1]);
  u32* const d = w.reg(i.dst);
  for_tiles<S>([&](unsigned, unsigned row, unsigned column, unsigned reg, unsigned lane) {
    const u32* from[4];
    u32* to[4];
    for (unsigned r = 0; r < 4; ++r) {
      from[r] = accumulator.first + (reg + r) * lanes + lane;
      to[r] = d + (reg + r) * lanes + lane;
    }
    multiply_brain_tile<S>(a + row, b + column, from, to);
  });
}
#endif

// Denormals are never flushed by matrix instructions, EXEC does not apply.
template <class S, class FA, class FB>
void matrix(Wave& w, const Inst& i) {
  keep_denormals(w);
  count_flops(w, matrix_type<FA>(), u64{S::rows} * S::rows * S::depth * S::blocks);
#if defined(__AVX2__) && defined(__FMA__)
  if constexpr (std::is_same_v<FA, Bf16> && S::blocks == 1) {
    const bool direct = i.blgp == 0 && !overlaps(i, 0) && !overlaps(i, 1) && !wants_exact(w);
    if (direct) return multiply_brains<S>(w, i);
  }
#endif
  Tiles<S, typename FA::Number> a;
  Tiles<S, typename FB::Number> b;
  unpack<S, FA>(w.reg(i.src[0]), 0, a);
  unpack<S, FB>(w.reg(i.src[1]), i.blgp, b);
  multiply<S, FA, FB>(w, i, a, b);
}

}  // namespace
}  // namespace mla::gfx

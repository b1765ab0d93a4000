// Matrix arithmetic of a wave that keeps scores and probabilities in registers. AMD only.
//
// Keys are the left operand of the scores and values that of the output, so that a result has one
// query row a lane: lane l holds row n = l % 16 and, as group g = l / 16, four of 16 keys or
// columns. So what a lane computed as scores is what it multiplies as probabilities: its eight keys
// of a tile of 32 are 4 g .. 4 g + 3 and 16 + 4 g .. 16 + 4 g + 3, and values are read in that
// order. A step of the scores is 64 bytes of a key, 16 of each lane. gfx950 transposes values while
// it reads them from LDS, gfx942 by v_perm_b32; therefore columns are shared out differently
// (run_column).
#pragma once

#include "hip_backend/kernels/gpu.hpp"
#include "hip_backend/kernels/numbers.hpp"
#include "hip_backend/kernels/tile.hpp"

namespace mla::hip::wave {

using tile::Float4;
using tile::Fragment;
using tile::lane_group;
using tile::lane_row;

constexpr int kKeys = 32;      // of a tile
constexpr int kColumns = 128;  // that Values has: eight blocks of 16
constexpr int kBlocks = 8;
constexpr int kRuns = 8;  // of four adjacent columns, in which a lane holds its part of them

// The same in every lane of a wave, as the compiler does not know by itself.
MLA_DEVICE int uniform(int x) {
  return __builtin_amdgcn_readfirstlane(x);
}

template <class M>
MLA_DEVICE void multiply_step(Float4& sum, const Bytes16& a, const Bytes16& b) {
  if constexpr (sizeof(M) == 2) {
    sum = tile::mfma(Fragment<Bf16>{a}, Fragment<Bf16>{b}, sum);
  } else {
    const auto half = [](const Bytes16& x, int i) {
      return Fragment<Fp8>{{{x.w[2 * i], x.w[2 * i + 1]}}};
    };
    sum = tile::mfma(half(a, 0), half(b, 0), sum);
    sum = tile::mfma(half(a, 1), half(b, 1), sum);
  }
}

// Two steps: of fp8 one instruction of gfx950, to which it does not matter which 32 bytes of a row
// a lane has, as long as both operands have the same ones.
template <class M>
MLA_DEVICE void multiply_two_steps(Float4& sum, const Bytes16& a, const Bytes16& a2,
                                   const Bytes16& b, const Bytes16& b2) {
#if defined(__gfx950__)
  if constexpr (sizeof(M) == 1) {
    using Int8 = __attribute__((ext_vector_type(8))) int;
    const auto join = [](const Bytes16& x, const Bytes16& y) {
      return __builtin_bit_cast(Int8, __builtin_shufflevector(x.w, y.w, 0, 1, 2, 3, 4, 5, 6, 7));
    };
    sum = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(join(a, a2), join(b, b2), sum, 0, 0, 0,
                                                           0, 0, 0);
    return;
  }
#endif
  multiply_step<M>(sum, a, b);
  multiply_step<M>(sum, a2, b2);
}

// The largest of eight; NaN is ignored.
MLA_DEVICE float largest(const Float4 (&x)[2]) {
  const auto of_three = [](float a, float b, float c) {
    float top;  // fmax would first make quiet what is quiet already
    asm("v_max3_f32 %0, %1, %2, %3" : "=v"(top) : "v"(a), "v"(b), "v"(c));
    return top;
  };
  const float a = of_three(x[0][0], x[0][1], x[0][2]);
  const float b = of_three(x[1][0], x[1][1], x[1][2]);
  return of_three(of_three(a, b, x[0][3]), x[1][3], x[1][3]);
}

// Probabilities of one row, rounded.
template <class M>
MLA_DEVICE Fragment<M> round_weights(const Float4 (&p)[2]) {
  Fragment<M> weights;
  MLA_UNROLL
  for (int b = 0; b < 2; ++b) {
    if constexpr (sizeof(M) == 1) {
      const int low = __builtin_amdgcn_cvt_pk_fp8_f32(p[b][0], p[b][1], 0, false);
      weights.bits.w[b] =
          static_cast<u32>(__builtin_amdgcn_cvt_pk_fp8_f32(p[b][2], p[b][3], low, true));
    } else {
#if defined(__gfx950__)
      using Bf16x4 = __attribute__((ext_vector_type(4))) __bf16;
      const auto pairs = bits_as<Bytes8>(__builtin_convertvector(p[b], Bf16x4));
      weights.bits.w[2 * b] = pairs.w[0];
      weights.bits.w[2 * b + 1] = pairs.w[1];
#else
      weights.bits.w[2 * b] = bf16_pair(p[b][0], p[b][1]);
      weights.bits.w[2 * b + 1] = bf16_pair(p[b][2], p[b][3]);
#endif
    }
  }
  return weights;
}

// Key of slot e (0 to 7) of lane group g.
MLA_DEVICE int key_of_slot(int g, int e) {
  return 4 * g + e + 12 * (e / 4);
}

#if defined(__gfx950__)
using Int2 = __attribute__((ext_vector_type(2))) int;
using LdsWords = __attribute__((address_space(3))) Int2*;
using LdsHalves = __attribute__((address_space(3))) tile::Short4*;

// 32 keys by 128 columns from row-major LDS: block c is columns 16 c to 16 c + 15, one a lane.
template <class M>
class Values {
 public:
  MLA_DEVICE_MEMBER Values(const char* lds, int pitch) : pitch_(pitch) {
    at_ = sizeof(M) == 2
              ? lds + (4 * lane_group() + lane_row() / 4) * pitch + 8 * (lane_row() % 4)
              : lds + key_of_slot(lane_group(), lane_row() / 2) * pitch + 8 * (lane_row() % 2);
  }
  MLA_DEVICE_MEMBER Fragment<M> block(int c) const {
    if constexpr (sizeof(M) == 2) {
      const auto low =
          bits_as<Bytes8>(__builtin_amdgcn_ds_read_tr16_b64_v4i16((LdsHalves)(at_ + 32 * c)));
      const auto high = bits_as<Bytes8>(
          __builtin_amdgcn_ds_read_tr16_b64_v4i16((LdsHalves)(at_ + 16 * pitch_ + 32 * c)));
      return {{{low.w[0], low.w[1], high.w[0], high.w[1]}}};
    } else {
      return {bits_as<Bytes8>(__builtin_amdgcn_ds_read_tr8_b64_v2i32((LdsWords)(at_ + 16 * c)))};
    }
  }

 private:
  const char* at_;
  int pitch_;
};

// First column, of 128, of run `run`, and the value of its element i.
MLA_DEVICE int run_column(int run) {
  return 16 * run + 4 * lane_group();
}
MLA_DEVICE float run_element(const Float4* sums, int run, int i) {
  return sums[run][i];
}
#else
// 32 keys by 128 columns from row-major LDS: column 8 n + c of them is lane n's of block c.
template <class M>
class Values {
  struct Row {  // eight columns of a key
    __attribute__((ext_vector_type(2 * sizeof(M)))) u32 w;
  };

 public:
  MLA_DEVICE_MEMBER Values(const char* lds, int pitch) {
    const char* at = lds + 4 * lane_group() * pitch + 8 * lane_row() * kElementBytes<M>;
    MLA_UNROLL
    for (int half = 0; half < 2; ++half) {
      MLA_UNROLL
      for (int e = 0; e < 4; ++e)
        row_[4 * half + e].w = reinterpret_cast<const Row*>(at + (16 * half + e) * pitch)->w;
    }
  }
  MLA_DEVICE_MEMBER Fragment<M> block(int c) const {
    const u32 halves = c % 2 == 0 ? tile::kLowHalves : tile::kHighHalves;
    Fragment<M> column;
    if constexpr (sizeof(M) == 2) {
      MLA_UNROLL
      for (int e = 0; e < 4; ++e)
        column.bits.w[e] = tile::permute(row_[2 * e + 1].w[c / 2], row_[2 * e].w[c / 2], halves);
    } else {
      MLA_UNROLL
      for (int half = 0; half < 2; ++half) {
        // Bytes of two keys side by side, of two columns each, then of four keys of one column.
        const u32 pairs = c % 4 < 2 ? 0x05010400U : 0x07030602U;
        const Row* r = row_ + 4 * half;
        const u32 a = tile::permute(r[1].w[c / 4], r[0].w[c / 4], pairs);
        const u32 b = tile::permute(r[3].w[c / 4], r[2].w[c / 4], pairs);
        column.bits.w[half] = tile::permute(b, a, halves);
      }
    }
    return column;
  }

 private:
  Row row_[8];
};

MLA_DEVICE int run_column(int run) {
  return 32 * lane_group() + 4 * run;
}
MLA_DEVICE float run_element(const Float4* sums, int run, int i) {
  return sums[4 * (run % 2) + i][run / 2];
}
#endif

}  // namespace mla::hip::wave

// The tile layer on AMD: waves of 64 lanes, MFMA 16x16.
//
// Lane l is row (or key, or column) n = l % 16 of an operand and holds the eight contracted indices
// 8 g .. 8 g + 7 of a step of 32, g = l / 16: one 16-byte (bf16) or 8-byte (fp8) read. gfx950 has
// v_mfma_f32_16x16x32_bf16, which takes exactly that; gfx942 does a step in two of
// v_mfma_f32_16x16x16_bf16, the first over the even fours of indices. A result has row 4 g + i and
// column n.
// See tile.hpp.
#pragma once

namespace mla::hip::tile {

constexpr int kDimStep = 32;
constexpr int kKeyStep = 32;
constexpr int kStepsAtOnce = 18;  // all of them: Q is in registers, which have no run-time index

using Float4 = __attribute__((ext_vector_type(4))) float;
using Short4 = __attribute__((ext_vector_type(4))) short;
using Bf16x8 = __attribute__((ext_vector_type(8))) __bf16;

template <class E>
struct Fragment;
template <>
struct Fragment<Bf16> {
  Bytes16 bits;
};
template <>
struct Fragment<Fp8> {
  Bytes8 bits;
};

MLA_DEVICE int lane_row() {
  return lane_id() % 16;
}
MLA_DEVICE int lane_group() {
  return lane_id() / 16;
}

template <class E>
MLA_DEVICE Fragment<E> load_fragment(const char* lds, int pitch, int row, int first) {
  const char* at = lds + (row + lane_row()) * pitch + (first + 8 * lane_group()) * kElementBytes<E>;
  return {*reinterpret_cast<const decltype(Fragment<E>::bits)*>(at)};
}

MLA_DEVICE Float4 mfma(const Fragment<Bf16>& a, const Fragment<Bf16>& b, Float4 c) {
#if defined(__gfx950__)
  return __builtin_amdgcn_mfma_f32_16x16x32_bf16(bits_as<Bf16x8>(a.bits), bits_as<Bf16x8>(b.bits),
                                                 c, 0, 0, 0);
#else
  struct Halves {
    Short4 half[2];
  };
  const auto x = bits_as<Halves>(a.bits);
  const auto y = bits_as<Halves>(b.bits);
  c = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x.half[0], y.half[0], c, 0, 0, 0);
  return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x.half[1], y.half[1], c, 0, 0, 0);
#endif
}
MLA_DEVICE Float4 mfma(const Fragment<Fp8>& a, const Fragment<Fp8>& b, Float4 c) {
  return __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(bits_as<long>(a.bits), bits_as<long>(b.bits), c,
                                                    0, 0, 0);
}

struct Block {
  Float4 sum = {0, 0, 0, 0};
};
constexpr int kBlockElements = 4;
MLA_DEVICE int block_row(int i) {
  return 4 * lane_group() + i;
}
MLA_DEVICE int block_col(int) {
  return lane_row();
}
MLA_DEVICE float element(const Block& block, int i) {
  return block.sum[i];
}

template <class E>
MLA_DEVICE void multiply_add(Block& d, const Fragment<E>& a, const Fragment<E>& b) {
  d.sum = mfma(a, b, d.sum);
}

// Every wave loads its own rows of Q into registers; the workgroup has nothing to bring.

template <class Q, int kRows, int kThreads, int kDims>
MLA_DEVICE void bring_query(const void*, i64, int, char*, Fp8Code) {}

// kBlocks blocks of 16 rows of Q, kSteps steps each.
template <class E, int kBlocks, int kSteps, int kDims>
struct Query {
  Fragment<E> rows[kBlocks][kSteps];

  // Rows from `first` on, of which those below `count` exist; dims from step `step` on.
  template <class Q>
  MLA_DEVICE_MEMBER void load(const void* q, i64 row_bytes, int first, int count, int step,
                              const char*) {
    static_assert(sizeof(Q) == sizeof(E));
    MLA_UNROLL
    for (int b = 0; b < kBlocks; ++b) {
      const int row = first + 16 * b + lane_row();
      const char* at = static_cast<const char*>(q) + (row < count ? row : 0) * row_bytes +
                       (step * kDimStep + 8 * lane_group()) * kElementBytes<E>;
      MLA_UNROLL
      for (int s = 0; s < kSteps; ++s) {
        using Bits = decltype(Fragment<E>::bits);
        const auto bits = *reinterpret_cast<const Bits*>(at + s * kDimStep * kElementBytes<E>);
        rows[b][s].bits = bits;
        if (row >= count) rows[b][s].bits = Bits{};
      }
    }
  }
  MLA_DEVICE_MEMBER Fragment<E> fragment(int block, int step) const { return rows[block][step]; }
};

struct Group {
  Float4 sum[4] = {};  // column 4 n + c of the 64 is sum[c] of lane n
};
constexpr int kHeldRows = 4;
constexpr int kRuns = 1;
constexpr int kRunLength = 4;
MLA_DEVICE int held_row(int i) {
  return 4 * lane_group() + i;
}
MLA_DEVICE int run_column(int) {
  return 4 * lane_row();
}
MLA_DEVICE float run_element(const Group& group, int held, int, int i) {
  return group.sum[i][held];
}
MLA_DEVICE void add_to_element(Group& group, int held, int, int i, float x) {
  group.sum[i][held] += x;
}

MLA_DEVICE void scale_rows(Group& group, const float (&factor)[kHeldRows]) {
  MLA_UNROLL
  for (int c = 0; c < 4; ++c) {
    MLA_UNROLL
    for (int i = 0; i < kHeldRows; ++i) group.sum[c][i] *= factor[i];
  }
}

// Four columns of eight keys each, transposed in registers: column c of lane n is 4 n + c.
template <class E>
struct Values {
  Fragment<E> column[4];
};

constexpr u32 kLowHalves = 0x05040100U;
constexpr u32 kHighHalves = 0x07060302U;
MLA_DEVICE u32 permute(u32 high, u32 low, u32 bytes) {
  return __builtin_amdgcn_perm(high, low, bytes);
}

template <class E>
MLA_DEVICE Values<E> load_values(const char* lds, int pitch, int key, int column) {
  const char* at =
      lds + (key + 8 * lane_group()) * pitch + (column + 4 * lane_row()) * kElementBytes<E>;
  Values<E> v;
  if constexpr (sizeof(E) == 2) {
    Bytes8 row[8];
    MLA_UNROLL
    for (int e = 0; e < 8; ++e) row[e] = *reinterpret_cast<const Bytes8*>(at + e * pitch);
    MLA_UNROLL
    for (int c = 0; c < 4; ++c) {
      MLA_UNROLL
      for (int e = 0; e < 4; ++e)
        v.column[c].bits.w[e] = permute(row[2 * e + 1].w[c / 2], row[2 * e].w[c / 2],
                                        c % 2 == 0 ? kLowHalves : kHighHalves);
    }
  } else {
    MLA_UNROLL
    for (int half = 0; half < 2; ++half) {
      u32 row[4];
      MLA_UNROLL
      for (int e = 0; e < 4; ++e)
        row[e] = *reinterpret_cast<const u32*>(at + (4 * half + e) * pitch);
      // Bytes of two keys side by side, then of four.
      const u32 a = permute(row[1], row[0], 0x05010400U);
      const u32 b = permute(row[3], row[2], 0x05010400U);
      const u32 c = permute(row[1], row[0], 0x07030602U);
      const u32 d = permute(row[3], row[2], 0x07030602U);
      v.column[0].bits.w[half] = permute(b, a, kLowHalves);
      v.column[1].bits.w[half] = permute(b, a, kHighHalves);
      v.column[2].bits.w[half] = permute(d, c, kLowHalves);
      v.column[3].bits.w[half] = permute(d, c, kHighHalves);
    }
  }
  return v;
}

template <class E>
MLA_DEVICE void multiply_add(Group& d, const Fragment<E>& p, const Values<E>& v) {
  MLA_UNROLL
  for (int c = 0; c < 4; ++c) d.sum[c] = mfma(p, v.column[c], d.sum[c]);
}

}  // namespace mla::hip::tile

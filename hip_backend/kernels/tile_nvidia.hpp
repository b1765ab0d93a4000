// The tile layer on NVIDIA: warps of 32 lanes, mma.m16n8k16 in bf16, operands through ldmatrix.
//
// Everything in LDS is bf16 here; fp8 has been converted on its way in (numbers.hpp). A result of
// m16n8 has rows lane / 4 and lane / 4 + 8 and columns 2 (lane % 4) and the next one.
// See tile.hpp.
#pragma once

namespace mla::hip::tile {

constexpr int kDimStep = 16;
constexpr int kKeyStep = 16;
constexpr int kStepsAtOnce = 6;  // unrolled: enough to hide LDS, few enough for the registers

template <class E>
struct Fragment {
  static_assert(sizeof(E) == 2);
  u32 w[4];
};

MLA_DEVICE u32 lds_address(const char* at) {
  return static_cast<u32>(__cvta_generic_to_shared(at));
}
MLA_DEVICE void ldmatrix(u32 (&w)[4], const char* at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
               : "r"(lds_address(at))
               : "memory");
}
MLA_DEVICE void ldmatrix_transposed(u32 (&w)[4], const char* at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
               : "r"(lds_address(at))
               : "memory");
}
MLA_DEVICE void mma(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// As the left operand: the 8x8 matrices are (rows 0-7, k 0-7), (rows 8-15, k 0-7), and the same for
// k 8-15. As the right one the same words are keys 0-7: w[0], w[2]; keys 8-15: w[1], w[3].
template <class E>
MLA_DEVICE Fragment<E> load_fragment(const char* lds, int pitch, int row, int first) {
  Fragment<E> f;
  ldmatrix(f.w, lds + (row + lane_id() % 16) * pitch + 2 * (first + 8 * (lane_id() / 16)));
  return f;
}

struct Block {
  float sum[2][4] = {};  // columns 0-7, columns 8-15
};
constexpr int kBlockElements = 8;
MLA_DEVICE int block_row(int i) {
  return lane_id() / 4 + 8 * (i / 2 % 2);
}
MLA_DEVICE int block_col(int i) {
  return 2 * (lane_id() % 4) + i % 2 + 8 * (i / 4);
}
MLA_DEVICE float element(const Block& block, int i) {
  return block.sum[i / 4][i % 4];
}

template <class E>
MLA_DEVICE void multiply_add(Block& d, const Fragment<E>& a, const Fragment<E>& b) {
  mma(d.sum[0], a.w, b.w[0], b.w[2]);
  mma(d.sum[1], a.w, b.w[1], b.w[3]);
}

// Rows of Q in LDS, kDims bf16 and 16 bytes apart: the workgroup brings them together, and a
// barrier must follow. Rows from `count` on are zero.
template <class Q, int kRows, int kThreads, int kDims>
MLA_DEVICE void bring_query(const void* q, i64 row_bytes, int count, char* lds, Fp8Code code) {
  constexpr int kPerRow = kDims * kElementBytes<Q> / 16;
  for (int i = thread_id(); i < kRows * kPerRow; i += kThreads) {
    const int row = i / kPerRow;
    const int part = i % kPerRow;
    Bytes16 bits{};
    if (row < count)
      bits = *reinterpret_cast<const Bytes16*>(static_cast<const char*>(q) + row * row_bytes +
                                               16 * part);
    char* to = lds + row * (2 * kDims + 16) + part * (16 / kElementBytes<Q> * 2);
    store_as_bf16<Q>(to, bits, code);
  }
}

template <class E, int kBlocks, int kSteps, int kDims>
struct Query {
  static constexpr int kPitch = 2 * kDims + 16;
  const char* at;

  template <class Q>
  MLA_DEVICE_MEMBER void load(const void*, i64, int first, int, int step, const char* lds) {
    at = lds + first * kPitch + 2 * step * kDimStep;
  }
  MLA_DEVICE_MEMBER Fragment<E> fragment(int block, int step) const {
    return load_fragment<E>(at, kPitch, 16 * block, step * kDimStep);
  }
};

struct Group {
  float sum[8][4] = {};  // eight columns each
};
constexpr int kHeldRows = 2;
constexpr int kRuns = 8;
constexpr int kRunLength = 2;
MLA_DEVICE int held_row(int i) {
  return lane_id() / 4 + 8 * i;
}
MLA_DEVICE int run_column(int run) {
  return 8 * run + 2 * (lane_id() % 4);
}
MLA_DEVICE float run_element(const Group& group, int held, int run, int i) {
  return group.sum[run][2 * held + i];
}
MLA_DEVICE void add_to_element(Group& group, int held, int run, int i, float x) {
  group.sum[run][2 * held + i] += x;
}

MLA_DEVICE void scale_rows(Group& group, const float (&factor)[kHeldRows]) {
  MLA_UNROLL
  for (int t = 0; t < 8; ++t) {
    MLA_UNROLL
    for (int i = 0; i < 4; ++i) group.sum[t][i] *= factor[i / 2];
  }
}

template <class E>
struct Values {
  u32 w[4][4];  // sixteen columns each
};

template <class E>
MLA_DEVICE Values<E> load_values(const char* lds, int pitch, int key, int column) {
  Values<E> v;
  const char* at = lds + (key + lane_id() % 16) * pitch + 2 * (column + 8 * (lane_id() / 16));
  MLA_UNROLL
  for (int t = 0; t < 4; ++t) ldmatrix_transposed(v.w[t], at + 32 * t);
  return v;
}

template <class E>
MLA_DEVICE void multiply_add(Group& d, const Fragment<E>& p, const Values<E>& v) {
  MLA_UNROLL
  for (int t = 0; t < 4; ++t) {
    mma(d.sum[2 * t], p.w, v.w[t][0], v.w[t][1]);
    mma(d.sum[2 * t + 1], p.w, v.w[t][2], v.w[t][3]);
  }
}

}  // namespace mla::hip::tile

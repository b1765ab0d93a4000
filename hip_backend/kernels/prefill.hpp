// Prefill attention: a block of rows of one head over keys of the same head.
//
// The fp8 kernel with a plan and varlen flash attention are one text: they differ in where their
// pieces come from. Keys and values of a tile are brought into LDS one tile ahead
// (attention_tile.hpp has the arithmetic). A piece that is split writes normalised f32 partials and
// their natural-log LSE, one that is not the output in bf16 and the LSE.
#pragma once

#include "hip_backend/kernels/arguments.hpp"
#include "hip_backend/kernels/attention_tile.hpp"
#include "hip_backend/kernels/key_stage.hpp"
#include "hip_backend/kernels/output.hpp"
#include "hip_backend/kernels/prefill_traits.hpp"

namespace mla::hip {

struct PrefillPiece {
  int head;
  int q_begin;
  int q_end;
  int first_key;  // entry of key_rows, or row of K
  int keys;
  int first_visible;  // row q_begin + i sees the keys below first_visible + i * step
  int step;
  int partial_row;  // of row q_begin; -1: writes the output

  MLA_DEVICE_MEMBER int visible(int i) const {
    return max_of(0, min_of(first_visible + i * step, keys));
  }
};

MLA_DEVICE PrefillPiece piece_of_prefill_work(const PrefillArguments& a, int work) {
  const int* info = a.work_info + 8 * static_cast<i64>(work);
  const int q_first = a.qo_indptr[info[0]];
  const int q_last = a.qo_indptr[info[0] + 1];
  const int kv_first = a.kv_indptr[info[0]];
  const int kv_last = a.kv_indptr[info[0] + 1];
  const int keys = info[5] - info[4];
  // The last row of the request sees all its keys, each earlier one a key less.
  const int sees = (kv_last - kv_first) - (q_last - q_first) + (info[2] - q_first) + 1;
  return {info[7] & 0xFFFF, info[2], info[3],
          info[4],          keys,    a.causal != 0 ? sees - (info[4] - kv_first) : keys,
          a.causal,         info[1]};
}

MLA_DEVICE PrefillPiece piece_of_flash(const PrefillArguments& a, int request, int head) {
  const int q_begin = a.qo_indptr[request];
  const int q_end = a.qo_indptr[request + 1];
  const int first = a.kv_indptr[request];
  const int keys = a.kv_indptr[request + 1] - first;
  return {head,     q_begin, q_end,
          first,    keys,    a.causal != 0 ? keys - (q_end - q_begin) + 1 : keys,
          a.causal, -1};
}

template <class T>
class Prefill {
  using E = typename T::KeyElement;
  using M = typename T::M;
  using Lds = typename T::Lds;

 public:
  MLA_DEVICE_MEMBER Prefill(const PrefillArguments& a, const PrefillPiece& piece, int first,
                            Lds& lds)
      : a_(a),
        piece_(piece),
        lds_(lds),
        first_(first),
        count_(min_of(piece.q_end - piece.q_begin - first, T::kRows)),
        fewest_(piece.visible(first)),
        most_(piece.visible(first + count_ - 1)),
        tile_(lds, {a.fp8_factor, a.fp8_nan}, a.score_scale,
              visible_of(thread_id() / T::kRowThreads)) {}

  MLA_DEVICE_MEMBER void run() {
    const int tiles = ceil_div(most_, T::kKeys);
    barrier();  // the block before this one is done with the LDS
    for (int k = thread_id(); k < 2 * T::kKeys; k += T::kThreads)
      lds_.rows[k / T::kKeys][k % T::kKeys] = row_of(k);
    const i64 row = static_cast<i64>(piece_.q_begin) + first_;
    tile_.load_query(static_cast<const char*>(a_.q) + row * pitch(192) + head_offset(192),
                     pitch(192), count_);
    barrier();
    if (tiles > 0) fetch(0);
    for (int t = 0; t < tiles; ++t) one_tile(t, tiles);
    finish();
  }

 private:
  MLA_DEVICE_MEMBER int visible_of(int row) const {
    return row < count_ ? piece_.visible(first_ + row) : 0;
  }
  // Bytes from a row to the next, and of the head in a row, for heads of `dims` elements.
  MLA_DEVICE_MEMBER i64 pitch(int dims) const {
    return static_cast<i64>(a_.heads) * dims * kElementBytes<E>;
  }
  MLA_DEVICE_MEMBER i64 head_offset(int dims) const {
    return static_cast<i64>(piece_.head) * dims * kElementBytes<E>;
  }
  // Row of K and V of key i of the piece, or -1 after the last one that a row sees.
  MLA_DEVICE_MEMBER int row_of(int i) const {
    if (i >= most_) return -1;
    return a_.work_indptr == nullptr ? piece_.first_key + i : a_.key_rows[piece_.first_key + i];
  }

  MLA_DEVICE_MEMBER void fetch(int t) {
    const int* rows = lds_.rows[t % 2];
    keys_.fetch(static_cast<const char*>(a_.k) + head_offset(192), pitch(192), rows,
                lds_.keys[t % 2]);
    values_.fetch(static_cast<const char*>(a_.v) + head_offset(128), pitch(128), rows,
                  lds_.values[t % 2]);
  }

  MLA_DEVICE_MEMBER void one_tile(int t, int tiles) {
    const Fp8Code code = {a_.fp8_factor, a_.fp8_nan};
    const int base = t * T::kKeys;
    int ahead = -1;  // row of one key of the tile after the next
    if (thread_id() < T::kKeys) ahead = row_of(base + 2 * T::kKeys + thread_id());
    keys_.commit(lds_.keys[t % 2], code);
    values_.commit(lds_.values[t % 2], code);
    barrier();  // this tile is in LDS, and no wave needs the scores of the last one
    if (t + 1 < tiles) fetch(t + 1);
    tile_.multiply_keys(lds_.keys[t % 2]);
    if (thread_id() < T::kKeys) lds_.rows[t % 2][thread_id()] = ahead;
    barrier();
    tile_.soften(base);
    barrier();
    tile_.rescale();
    if (fewest_ < min_of(most_, base + T::kKeys)) clean_values(lds_.values[t % 2], base);
    tile_.multiply_values(lds_.values[t % 2]);
  }

  // Of the keys that not every row sees. A value may be NaN although its key is not.
  MLA_DEVICE_MEMBER void clean_values(char* values, int base) {
    const int from = max_of(fewest_ - base, 0);
    const int to = min_of(most_ - base, T::kKeys);
    tile_.keep_infinite(values, from, to, [&](int row) { return visible_of(row) - base; });
    barrier();
    tile_.clean_values(values, from, to);
    barrier();
  }

  // Index of (row, head) in the output or in the partials.
  MLA_DEVICE_MEMBER i64 place_of(int row) const {
    const i64 first = piece_.partial_row < 0 ? piece_.q_begin : piece_.partial_row;
    return (first + first_ + row) * a_.heads + piece_.head;
  }

  MLA_DEVICE_MEMBER void finish() {
    barrier();  // no wave needs the factors of the last tile
    const int row = thread_id() / T::kRowThreads;
    const bool direct = piece_.partial_row < 0;
    float lse = 0;
    if (tile_.finish_row(1.0F, lse) && row < count_)
      (direct ? a_.lse : a_.partial_lse)[place_of(row)] = lse;
    barrier();
    tile_.store_rows(count_, [&](int r, int column, const float(&value)[tile::kRunLength]) {
      const i64 at = place_of(r) * 128 + column;
      if (direct) {
        store_output(a_.out + at, value, a_.rounding);
      } else {
        store_partial(a_.partial_out + at, value);
      }
    });
  }

  const PrefillArguments& a_;
  const PrefillPiece& piece_;
  Lds& lds_;
  int first_;   // row of the piece that the block begins with
  int count_;   // rows of the block
  int fewest_;  // keys that the first row of the block sees
  int most_;    // keys that its last row sees
  AttentionTile<T> tile_;
  KeyStage<E, M, 192, T::kKeys, T::kThreads, T::kPitch> keys_;
  KeyStage<E, M, 128, T::kKeys, T::kThreads, T::kValuePitch> values_;
};

template <class T>
MLA_DEVICE void prefill_piece(const PrefillArguments& a, const PrefillPiece& piece,
                              typename T::Lds& lds) {
  const int rows = piece.q_end - piece.q_begin;
  for (int first = group_y() * T::kRows; first < rows; first += a.row_groups * T::kRows)
    Prefill<T>(a, piece, first, lds).run();
}

template <class T>
MLA_DEVICE void prefill(const PrefillArguments& a, typename T::Lds& lds) {
  if (a.work_indptr == nullptr) {
    const int request = group_x() / a.heads;
    if (a.skip[request] == 0)
      prefill_piece<T>(a, piece_of_flash(a, request, group_x() % a.heads), lds);
    return;
  }
  const int end = a.work_indptr[group_x() + 1];
  for (int work = a.work_indptr[group_x()]; work < end; ++work)
    if (a.skip[work] == 0) prefill_piece<T>(a, piece_of_prefill_work(a, work), lds);
}

}  // namespace mla::hip

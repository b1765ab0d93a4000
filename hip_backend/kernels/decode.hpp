// Stage 1 of MLA decode: attention of packed query rows over one piece of a paged latent cache.
//
// One text for gfx942, gfx950 and sm_90; the differences are in tile.hpp and layout.hpp. A
// workgroup takes a block of packed rows of a piece and walks over its keys tile by tile
// (attention_tile.hpp). A key is 576 elements, of which the first 512 are also its value. Writes
// normalised f32 partials and their natural-log LSE, or the output in bf16 when the piece is the
// whole of its rows. A row without a visible key gets 0 and -inf.
#pragma once

#include "hip_backend/kernels/arguments.hpp"
#include "hip_backend/kernels/attention_tile.hpp"
#include "hip_backend/kernels/decode_traits.hpp"
#include "hip_backend/kernels/gpu.hpp"
#include "hip_backend/kernels/key_stage.hpp"
#include "hip_backend/kernels/numbers.hpp"
#include "hip_backend/kernels/piece.hpp"
#include "hip_backend/kernels/tile.hpp"

namespace mla::hip {

template <class T>
class Decode {
  using Lds = typename T::Lds;
  static constexpr int kKeyBytes = 576 * kElementBytes<typename T::KeyElement>;
  static constexpr int kQueryBytes = 576 * kElementBytes<typename T::QueryElement>;

 public:
  MLA_DEVICE_MEMBER Decode(const DecodeArguments& a, const Piece& piece, int first, Lds& lds)
      : a_(a),
        piece_(piece),
        lds_(lds),
        first_(first),
        count_(min_of((piece.q_end - piece.q_begin) * a.heads - first, T::kRows)),
        fewest_(piece.visible(first / a.heads)),
        most_(piece.visible((first + count_ - 1) / a.heads)),
        tile_(lds, code(a), a.score_scale, visible_of(thread_id() / T::kRowThreads)) {}

  MLA_DEVICE_MEMBER void run() {
    const int tiles = ceil_div(most_, T::kKeys);
    barrier();  // the block before this one is done with the LDS
    for (int k = thread_id(); k < 2 * T::kKeys; k += T::kThreads)
      lds_.rows[k / T::kKeys][k % T::kKeys] = slot_of(k);
    const i64 row = static_cast<i64>(piece_.q_begin) * a_.heads + first_;
    tile_.load_query(static_cast<const char*>(a_.q) + row * kQueryBytes, kQueryBytes, count_);
    barrier();
    if (tiles > 0) stage_.fetch(a_.cache, kKeyBytes, lds_.rows[0], lds_.keys[0]);
    for (int t = 0; t < tiles; ++t) one_tile(t, tiles);
    finish();
  }

 private:
  MLA_DEVICE_MEMBER static Fp8Code code(const DecodeArguments& a) {
    return {a.fp8_factor, a.fp8_nan};
  }
  // Keys that a row of the block sees.
  MLA_DEVICE_MEMBER int visible_of(int row) const {
    return row < count_ ? piece_.visible((first_ + row) / a_.heads) : 0;
  }
  // Slot of key i from the cache's first one, or -1 behind the last key that a row sees.
  MLA_DEVICE_MEMBER int slot_of(int i) const {
    if (i >= most_) return -1;
    const int position = piece_.position(i);
    const int page = a_.kv_indices[piece_.first_entry + (position >> a_.page_shift)];
    const int in_page = position & ((1 << a_.page_shift) - 1);
    return static_cast<int>((static_cast<i64>(page) << a_.page_shift) + in_page - a_.first_slot);
  }

  MLA_DEVICE_MEMBER void one_tile(int t, int tiles) {
    char* keys = lds_.keys[t % T::kBuffers];
    const int base = t * T::kKeys;
    int ahead = -1;  // slot of one key of the tile after the next
    if (thread_id() < T::kKeys) ahead = slot_of(base + 2 * T::kKeys + thread_id());
    jitter(a_.sleep_seed, 4 * t);
    stage_.commit(keys, code(a_));
    barrier();  // this tile is in LDS, and nobody needs the scores of the last one
    if (t + 1 < tiles)
      stage_.fetch(a_.cache, kKeyBytes, lds_.rows[(t + 1) % 2], lds_.keys[(t + 1) % T::kBuffers]);
    jitter(a_.sleep_seed, 4 * t + 1);
    tile_.multiply_keys(keys);
    if (thread_id() < T::kKeys) lds_.rows[t % 2][thread_id()] = ahead;
    barrier();
    jitter(a_.sleep_seed, 4 * t + 2);
    tile_.soften(base);
    if (fewest_ < min_of(most_, base + T::kKeys))
      tile_.clean_values(keys, max_of(fewest_ - base, 0), min_of(most_ - base, T::kKeys));
    barrier();
    jitter(a_.sleep_seed, 4 * t + 3);
    tile_.multiply_values(keys);
    if constexpr (T::kBuffers == 1) barrier();  // before the next tile takes this one's place
  }

  // Where row `row` of the block goes: an index of (row, head) in the output or in the partials.
  MLA_DEVICE_MEMBER i64 place_of(int row) const {
    const int packed = first_ + row;
    const int t = packed / a_.heads;
    const i64 to = piece_.partial_row < 0
                       ? static_cast<i64>(piece_.q_begin) + t
                       : piece_.partial_row + static_cast<i64>(t) * piece_.partial_stride;
    return to * a_.heads + packed % a_.heads;
  }

  MLA_DEVICE_MEMBER void finish() {
    barrier();  // nobody needs the factors of the last tile
    const int row = thread_id() / T::kRowThreads;
    const bool direct = piece_.partial_row < 0;
    float lse = 0;
    if (tile_.finish_row(a_.out_scale, lse) && row < count_)
      (direct ? a_.lse : a_.partial_lse)[place_of(row)] = lse;
    barrier();
    tile_.store_rows(count_, [&](int r, int column, const float(&value)[tile::kRunLength]) {
      const i64 at = place_of(r) * 512 + column;
      if (direct) {
        store_output(a_.out + at, value, a_.rounding);
      } else {
        store_partial(a_.partial_out + at, value);
      }
    });
  }

  const DecodeArguments& a_;
  const Piece& piece_;
  Lds& lds_;
  int first_;   // packed row of the piece that the block begins with
  int count_;   // rows of the block
  int fewest_;  // keys that the first row of the block sees
  int most_;    // keys that its last row sees
  AttentionTile<T> tile_;
  KeyStage<typename T::KeyElement, typename T::M, 576, T::kKeys, T::kThreads, T::kPitch> stage_;
};

// The blocks of packed rows of one piece that belong to this workgroup.
template <class T>
MLA_DEVICE void attend(const DecodeArguments& a, const Piece& piece, typename T::Lds& lds) {
  const int packed = (piece.q_end - piece.q_begin) * a.heads;
  for (int first = group_y() * T::kRows; first < packed; first += a.row_groups * T::kRows)
    Decode<T>(a, piece, first, lds).run();
}

template <class T>
MLA_DEVICE void decode(const DecodeArguments& a, typename T::Lds& lds) {
  if (a.splits > 0) {
    if (a.skip[group_x()] != 0) return;
    attend<T>(a, piece_of_split(a, group_x() / a.splits, group_x() % a.splits), lds);
    return;
  }
  if (a.skip_slot[group_x()] != 0) return;
  const int* work_indptr = global_at<int>(a.work_meta_data[0]);
  const int end = work_indptr[group_x() + 1];
  for (int work = work_indptr[group_x()]; work < end; ++work)
    if (a.skip[work] == 0) attend<T>(a, piece_of_work(a, work), lds);
}

}  // namespace mla::hip

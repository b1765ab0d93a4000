// TileDecode: stage 1 on NVIDIA, over the keys of one block of rows (attention_tile.hpp).
//
// The workgroup shares everything through LDS: keys, scores, probabilities, factors of the rows.
#pragma once

#include "hip_backend/kernels/attention_tile.hpp"
#include "hip_backend/kernels/decode_block.hpp"
#include "hip_backend/kernels/decode_traits.hpp"
#include "hip_backend/kernels/key_stage.hpp"

namespace mla::hip {

template <class T>
class TileDecode {
  using Lds = typename T::Lds;
  static constexpr int kKeyBytes = 576 * kElementBytes<typename T::KeyElement>;
  static constexpr int kQueryBytes = 576 * kElementBytes<typename T::QueryElement>;

 public:
  MLA_DEVICE_MEMBER TileDecode(const DecodeArguments& a, const Piece& piece, int first, Lds& lds)
      : a_(a),
        block_(a, piece, first, T::kRows),
        lds_(lds),
        tile_(lds, block_.code(), a.score_scale, block_.visible_of(thread_id() / T::kRowThreads)) {}

  MLA_DEVICE_MEMBER void run() {
    const int tiles = ceil_div(block_.most(), T::kKeys);
    barrier();  // the block before this one is done with the LDS
    for (int k = thread_id(); k < 2 * T::kKeys; k += T::kThreads)
      lds_.rows[k / T::kKeys][k % T::kKeys] = slot_of(k);
    tile_.load_query(block_.query(kQueryBytes), kQueryBytes, block_.count());
    barrier();
    if (tiles > 0) stage_.fetch(a_.cache, kKeyBytes, lds_.rows[0], lds_.keys[0]);
    for (int t = 0; t < tiles; ++t) one_tile(t, tiles);
    finish();
  }

 private:
  // Slot of key i from the cache's first one, or -1 after the last key that a row sees.
  MLA_DEVICE_MEMBER int slot_of(int i) const {
    return i >= block_.most() ? -1 : static_cast<int>(block_.slot_of(block_.place_of_key(i)));
  }

  MLA_DEVICE_MEMBER void one_tile(int t, int tiles) {
    char* keys = lds_.keys[t % 2];
    const int base = t * T::kKeys;
    int ahead = -1;  // slot of one key of the tile after the next
    if (thread_id() < T::kKeys) ahead = slot_of(base + 2 * T::kKeys + thread_id());
    block_.sleep(4 * t);
    stage_.commit(keys, block_.code());
    barrier();  // this tile is in LDS, and no wave needs the scores of the last one
    if (t + 1 < tiles)
      stage_.fetch(a_.cache, kKeyBytes, lds_.rows[(t + 1) % 2], lds_.keys[(t + 1) % 2]);
    block_.sleep(4 * t + 1);
    tile_.multiply_keys(keys);
    if (thread_id() < T::kKeys) lds_.rows[t % 2][thread_id()] = ahead;
    barrier();
    block_.sleep(4 * t + 2);
    tile_.soften(base);
    if (block_.fewest() < min_of(block_.most(), base + T::kKeys))
      tile_.clean_values(keys, max_of(block_.fewest() - base, 0),
                         min_of(block_.most() - base, T::kKeys));
    barrier();
    block_.sleep(4 * t + 3);
    tile_.rescale();
    tile_.multiply_values(keys);
  }

  MLA_DEVICE_MEMBER void finish() {
    barrier();  // no wave needs the factors of the last tile
    const int row = thread_id() / T::kRowThreads;
    float lse = 0;
    if (tile_.finish_row(a_.out_scale, lse) && row < block_.count())
      block_.store_lse(block_.index_of(row), lse);
    barrier();
    tile_.store_rows(block_.count(), [&](int r, int column, const float(&value)[tile::kRunLength]) {
      block_.store(block_.index_of(r), column, value);
    });
  }

  const DecodeArguments& a_;
  DecodeBlock block_;
  Lds& lds_;
  AttentionTile<T> tile_;
  KeyStage<typename T::KeyElement, typename T::M, 576, T::kKeys, T::kThreads, T::kPitch> stage_;
};

}  // namespace mla::hip

// WaveTile: the arithmetic of a wave that attends its rows of a workgroup, tile of keys by tile.
//
// AMD's counterpart of AttentionTile for decode: a wave takes 16 rows or 32, with all dims and all
// columns, and does everything in registers: scores, online softmax in base 2, probabilities, sums
// of values (wave_matrix.hpp). No score goes through LDS and no barrier is needed but for the keys.
// The waves of a row may share out its keys; finish() merges them. T: wave_traits.hpp. A row that
// sees no key gets sum 0, output 0 and LSE -inf.
#pragma once

#include "hip_backend/kernels/gpu.hpp"
#include "hip_backend/kernels/numbers.hpp"
#include "hip_backend/kernels/tile.hpp"
#include "hip_backend/kernels/wave_matrix.hpp"

namespace mla::hip {

template <class T>
class WaveTile {
  using M = typename T::M;
  using Float4 = tile::Float4;
  static constexpr int kRowBlocks = T::kRowBlocks;
  // The running maximum lags by less than this, so that sums are rarely rescaled after the
  // first tile. Weights are below 2^7, which every format holds (e4m3fnuz ends at 240).
  static constexpr float kSlack = 7;
  static constexpr int kOwned = wave::kBlocks * 4 / T::kKeyWaves;  // blocks of columns, merged

 public:
  MLA_DEVICE_MEMBER explicit WaveTile(float score_scale) : score_scale_(score_scale) {
    MLA_UNROLL
    for (int r = 0; r < kRowBlocks; ++r) {
      maximum_[r] = -kInfinity;
      sum_[r] = 0;
      MLA_UNROLL
      for (int c = 0; c < 4 * wave::kBlocks; ++c) out_[r][c] = Float4{0, 0, 0, 0};
    }
  }

  // This wave among the waves that share out rows, and among those that share out keys.
  MLA_DEVICE_MEMBER static int row_wave() { return wave::uniform(wave_id()) % T::kRowWaves; }
  MLA_DEVICE_MEMBER static int key_wave() { return wave::uniform(wave_id()) / T::kRowWaves; }
  // Row, of the workgroup, that this lane has in block r of the wave.
  MLA_DEVICE_MEMBER static int row(int r) {
    return 16 * (kRowBlocks * row_wave() + r) + tile::lane_row();
  }

  // Rows of Q from `q` on, `row_bytes` apart, of which `count` exist; others are zero.
  MLA_DEVICE_MEMBER void load_query(const void* q, i64 row_bytes, int count) {
    MLA_UNROLL
    for (int r = 0; r < kRowBlocks; ++r) {
      const bool exists = row(r) < count;
      const char* at = static_cast<const char*>(q) + (exists ? row(r) : 0) * row_bytes;
      MLA_UNROLL
      for (int s = 0; s < T::kSteps; ++s) {
        query_[r][s] = *reinterpret_cast<const Bytes16*>(at + T::step_bytes(s));
        if (!exists) query_[r][s] = Bytes16{};
      }
    }
  }

  // The row of block r sees this number of the piece's keys.
  MLA_DEVICE_MEMBER void set_visible(int r, int keys) { visible_[r] = keys; }

  // key(b, s): step s of the key that this lane has among keys 16 b to 16 b + 15.
  template <class Key>
  MLA_DEVICE_MEMBER void multiply_keys(Key key) {
    MLA_UNROLL
    for (int b = 0; b < 2; ++b) {
      MLA_UNROLL
      for (int r = 0; r < kRowBlocks; ++r) scores_[r][b] = Float4{0, 0, 0, 0};
      MLA_UNROLL
      for (int s = 0; s < T::kSteps; s += 2) {
        const bool pair = s + 1 < T::kSteps;
        const Bytes16 low = key(b, s);
        const Bytes16 high = pair ? key(b, s + 1) : Bytes16{};
        MLA_UNROLL
        for (int r = 0; r < kRowBlocks; ++r) {
          if (pair) {
            wave::multiply_two_steps<M>(scores_[r][b], low, high, query_[r][s], query_[r][s + 1]);
          } else {
            wave::multiply_step<M>(scores_[r][b], low, query_[r][s]);
          }
        }
        if (kRowBlocks > 1 || s % 4 == 2) keep_schedule();
      }
    }
  }

  // Scores to weights. `base`: number of the tile's first key. `all_visible`: to every row.
  MLA_DEVICE_MEMBER void soften(int base, bool all_visible) {
    MLA_UNROLL
    for (int r = 0; r < kRowBlocks; ++r) {
      Float4(&x)[2] = scores_[r];
      x[0] *= score_scale_;
      x[1] *= score_scale_;
      if (!all_visible) hide(x, visible_[r] - base - 4 * tile::lane_group());
      float top = wave::largest(x);
      top = __builtin_fmaxf(top, shuffle_xor(top, 16));
      top = __builtin_fmaxf(top, shuffle_xor(top, 32));
      if (any_lane(top > maximum_[r] + kSlack)) raise_maximum(r, top);
      // Without a key so far the maximum is -inf; 0 in its place gives weight 0 everywhere.
      const float centre = maximum_[r] == -kInfinity ? 0.0F : maximum_[r];
      MLA_UNROLL
      for (int b = 0; b < 2; ++b) {
        x[b] += Float4{-centre, -centre, -centre, -centre};
        MLA_UNROLL
        for (int i = 0; i < 4; ++i) x[b][i] = exp2_of(x[b][i]);
      }
      const Float4 sums = x[0] + x[1];
      sum_[r] += (sums[0] + sums[2]) + (sums[1] + sums[3]);
      weights_[r] = wave::round_weights<M>(x);
    }
  }

  // Values of `groups` times 128 columns, from column 128 `first` on; `values`: the first of them.
  MLA_DEVICE_MEMBER void multiply_values(const char* values, int pitch, int first, int groups) {
    MLA_UNROLL
    for (int g = 0; g < groups; ++g) {
      const wave::Values<M> value(values + wave::kColumns * kElementBytes<M> * g, pitch);
      MLA_UNROLL
      for (int c = 0; c < wave::kBlocks; ++c) {
        const tile::Fragment<M> block = value.block(c);
        MLA_UNROLL
        for (int r = 0; r < kRowBlocks; ++r) {
          Float4& out = out_[r][wave::kBlocks * (first + g) + c];
          out = tile::mfma(block, weights_[r], out);
        }
        if (c % 4 == 3) keep_schedule();
      }
    }
  }

  // Merges the waves of a row and divides by its sum. `block` stores the rows that exist. `lds` is
  // free after a barrier.
  template <class Block>
  MLA_DEVICE_MEMBER void finish(typename T::Lds& lds, const Block& block) {
    MLA_UNROLL
    for (int r = 0; r < kRowBlocks; ++r) {
      float sum = sum_[r];
      sum += shuffle_xor(sum, 16);
      sum += shuffle_xor(sum, 32);
      float top = maximum_[r];
      Float4 merged[kOwned];
      if constexpr (T::kKeyWaves == 1) {
        MLA_UNROLL
        for (int c = 0; c < kOwned; ++c) merged[c] = out_[r][c];
      } else {
        const float keep = merge_sums(lds, top, sum);
        merge_rows(lds, out_[r], keep, merged);
      }
      if (row(r) >= block.count()) continue;
      const i64 index = block.index_of(row(r));
      if (key_wave() == 0 && tile::lane_group() == 0)
        block.store_lse(index, sum == 0 ? -kInfinity : (top + log2_of(sum)) * kLn2);
      store_row(merged, index, sum == 0 ? 0.0F : block.out_scale() / sum, block);
    }
  }

 private:
  // Keys that the row does not see; it sees the first `visible` from this lane's first one on.
  MLA_DEVICE_MEMBER static void hide(Float4 (&x)[2], int visible) {
    MLA_UNROLL
    for (int b = 0; b < 2; ++b) {
      MLA_UNROLL
      for (int i = 0; i < 4; ++i)
        if (16 * b + i >= visible) x[b][i] = -kInfinity;
    }
  }

  // For the rows that need it: a row does not depend on what others see.
  MLA_DEVICE_MEMBER void raise_maximum(int r, float top) {
    const float raised = top > maximum_[r] + kSlack ? top : maximum_[r];
    const float keep = exp2_of(maximum_[r] - (raised == -kInfinity ? 0.0F : raised));
    maximum_[r] = raised;
    sum_[r] *= keep;
    MLA_UNROLL
    for (int c = 0; c < 4 * wave::kBlocks; ++c) out_[r][c] *= keep;
  }

  // Maximum and sum of the row over all waves; the factor of this wave's part.
  MLA_DEVICE_MEMBER static float merge_sums(typename T::Lds& lds, float& top, float& sum) {
    const float own = top;
    if (tile::lane_group() == 0) {
      lds.maximum[key_wave()][row(0)] = top;
      lds.sum[key_wave()][row(0)] = sum;
    }
    barrier();
    MLA_UNROLL
    for (int w = 0; w < T::kKeyWaves; ++w) top = __builtin_fmaxf(top, lds.maximum[w][row(0)]);
    const float centre = top == -kInfinity ? 0.0F : top;
    sum = 0;
    MLA_UNROLL
    for (int w = 0; w < T::kKeyWaves; ++w)
      sum += lds.sum[w][row(0)] * exp2_of(lds.maximum[w][row(0)] - centre);
    return exp2_of(own - centre);
  }

  // Wave w of a row gets the sums of all its waves for columns 128 w to 128 w + 127, added in the
  // order of the waves.
  MLA_DEVICE_MEMBER static void merge_rows(typename T::Lds& lds, const Float4* out, float keep,
                                           Float4 (&merged)[kOwned]) {
    static_assert(T::kKeyWaves == 4 && T::kRowWaves == 1);
    MLA_UNROLL
    for (int owner = 0; owner < T::kKeyWaves; ++owner) {
      const Float4* part = out + kOwned * owner;
      if (key_wave() != owner) {
        MLA_UNROLL
        for (int c = 0; c < kOwned; ++c) lds.parts[key_wave()][c][lane_id()] = part[c] * keep;
      }
      barrier();
      if (key_wave() == owner) {
        MLA_UNROLL
        for (int c = 0; c < kOwned; ++c) {
          merged[c] = Float4{0, 0, 0, 0};
          MLA_UNROLL
          for (int w = 0; w < T::kKeyWaves; ++w)
            merged[c] += w == owner ? part[c] * keep : lds.parts[w][c][lane_id()];
        }
      }
      barrier();
    }
  }

  template <class Block>
  MLA_DEVICE_MEMBER static void store_row(const Float4 (&sums)[kOwned], i64 index, float factor,
                                          const Block& block) {
    MLA_UNROLL
    for (int g = 0; g < kOwned / wave::kBlocks; ++g) {
      MLA_UNROLL
      for (int run = 0; run < wave::kRuns; ++run) {
        float value[4];
        MLA_UNROLL
        for (int i = 0; i < 4; ++i)
          value[i] =
              factor == 0 ? 0.0F : wave::run_element(sums + wave::kBlocks * g, run, i) * factor;
        block.store(index, wave::kColumns * (key_wave() + g) + wave::run_column(run), value);
      }
    }
  }

  float score_scale_;
  int visible_[kRowBlocks];
  float maximum_[kRowBlocks];  // scaled, base 2; of the keys of this wave; see kSlack
  float sum_[kRowBlocks];      // of this lane's keys
  Bytes16 query_[kRowBlocks][T::kSteps];
  Float4 scores_[kRowBlocks][2];
  tile::Fragment<M> weights_[kRowBlocks];
  Float4 out_[kRowBlocks][4 * wave::kBlocks];
};

}  // namespace mla::hip

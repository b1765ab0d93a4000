// AttentionTile: the arithmetic of a workgroup that attends a block of rows, tile of keys by tile.
//
// Prefill and, on NVIDIA, decode share it (AMD: wave_tile.hpp). Scores by matrix instructions into
// LDS, online softmax in base 2 with several threads a row, probabilities rounded to the operands'
// format in the place of the scores, values by matrix instructions into registers. T
// (decode_traits.hpp, prefill_traits.hpp) says how rows, keys, dims and columns are shared out. The
// caller brings keys and values and puts barriers between the calls: multiply_keys | soften |
// rescale, keep_infinite | clean_values | multiply_values. A row that sees no key gets sum 0,
// output 0 and LSE -inf.
#pragma once

#include "hip_backend/kernels/gpu.hpp"
#include "hip_backend/kernels/numbers.hpp"
#include "hip_backend/kernels/tile.hpp"

namespace mla::hip {

template <class T>
class AttentionTile {
  using M = typename T::M;
  using Lds = typename T::Lds;
  using Query = tile::Query<M, T::kRowBlocks, T::kSteps, T::kKeyDims>;

 public:
  // `visible`: keys that the row of this thread, thread_id() / T::kRowThreads, sees.
  MLA_DEVICE_MEMBER AttentionTile(Lds& lds, Fp8Code code, float score_scale, int visible)
      : lds_(lds), code_(code), score_scale_(score_scale), visible_(visible) {}

  // Rows of Q from `q` on, `row_bytes` apart, of which `count` exist. A barrier must follow.
  MLA_DEVICE_MEMBER void load_query(const void* q, i64 row_bytes, int count) {
    using QE = typename T::QueryElement;
    tile::bring_query<QE, T::kRows, T::kThreads, T::kKeyDims>(q, row_bytes, count, lds_.q, code_);
    const int row_wave = wave_id() % T::L.row_waves;
    const int dim_wave = wave_id() / (T::L.row_waves * T::L.key_waves);
    query_.template load<QE>(q, row_bytes, 16 * T::kRowBlocks * row_wave, count,
                             T::kSteps * dim_wave, lds_.q);
  }

  MLA_DEVICE_MEMBER void multiply_keys(const char* keys) {
    const int row_wave = wave_id() % T::L.row_waves;
    const int key_wave = wave_id() / T::L.row_waves % T::L.key_waves;
    const int dim_wave = wave_id() / (T::L.row_waves * T::L.key_waves);
    const int first_row = 16 * T::kRowBlocks * row_wave;
    const int first_key = 16 * T::kKeyBlocks * key_wave;
    tile::Block sums[T::kRowBlocks][T::kKeyBlocks];
    MLA_UNROLL_BY(tile::kStepsAtOnce)
    for (int s = 0; s < T::kSteps; ++s) {
      tile::Fragment<M> key[T::kKeyBlocks];
      MLA_UNROLL
      for (int k = 0; k < T::kKeyBlocks; ++k)
        key[k] = tile::load_fragment<M>(keys, T::kPitch, first_key + 16 * k,
                                        (T::kSteps * dim_wave + s) * tile::kDimStep);
      MLA_UNROLL
      for (int r = 0; r < T::kRowBlocks; ++r) {
        const tile::Fragment<M> q = query_.fragment(r, s);
        MLA_UNROLL
        for (int k = 0; k < T::kKeyBlocks; ++k) tile::multiply_add(sums[r][k], q, key[k]);
      }
      if (s % 3 == 2) keep_schedule();
    }
    MLA_UNROLL
    for (int r = 0; r < T::kRowBlocks; ++r) {
      MLA_UNROLL
      for (int k = 0; k < T::kKeyBlocks; ++k) {
        MLA_UNROLL
        for (int i = 0; i < tile::kBlockElements; ++i) {
          const int row = first_row + 16 * r + tile::block_row(i);
          const int key = first_key + 16 * k + tile::block_col(i);
          scores(dim_wave, row)[key] = tile::element(sums[r][k], i);
        }
      }
    }
  }

  // One thread takes kThreadKeys keys of one row. `base`: number of the tile's first key.
  MLA_DEVICE_MEMBER void soften(int base) {
    const int row = thread_id() / T::kRowThreads;
    const int first = thread_id() % T::kRowThreads * T::kThreadKeys;
    float x[T::kThreadKeys];
    float top = maximum_;
    MLA_UNROLL
    for (int k = 0; k < T::kThreadKeys; k += 2) {
      float sums[2] = {0, 0};
      MLA_UNROLL
      for (int w = 0; w < T::L.dim_waves; ++w) {
        const auto two = *reinterpret_cast<const Bytes8*>(scores(w, row) + first + k);
        sums[0] += bits_as<float>(two.w[0]);
        sums[1] += bits_as<float>(two.w[1]);
      }
      MLA_UNROLL
      for (int i = 0; i < 2; ++i) {
        x[k + i] = base + first + k + i < visible_ ? sums[i] * score_scale_ : -kInfinity;
        top = larger(top, x[k + i]);
      }
    }
    MLA_UNROLL
    for (int mask = 1; mask < T::kRowThreads; mask *= 2) top = larger(top, shuffle_xor(top, mask));
    // Without a key so far the maximum is -inf; 0 in its place gives weight 0 everywhere.
    const float centre = top == -kInfinity ? 0.0F : top;
    const float keep = exp2_of(maximum_ - centre);
    float sum = 0;
    MLA_UNROLL
    for (int k = 0; k < T::kThreadKeys; ++k) {
      x[k] = exp2_of(x[k] - centre);
      sum += x[k];
    }
    maximum_ = top;
    sum_ = sum_ * keep + sum;
    wave_barrier();  // the threads of a row have read its scores; now probabilities take their
                     // place
    char* weights = lds_.scores[0] + row * T::kScorePitch + first * kElementBytes<M>;
    MLA_UNROLL
    for (int k = 0; k < T::kThreadKeys; k += 2) store_weights(weights, k, x[k], x[k + 1]);
    if (first == 0) lds_.factor[row] = keep;
  }

  // Multiplies earlier sums by what the maximum moved.
  MLA_DEVICE_MEMBER void rescale() {
    MLA_UNROLL
    for (int r = 0; r < T::kValueBlocks; ++r) {
      float keep[tile::kHeldRows];
      bool changes = false;
      MLA_UNROLL
      for (int i = 0; i < tile::kHeldRows; ++i) {
        keep[i] = lds_.factor[16 * (value_block() + r) + tile::held_row(i)];
        changes = changes || keep[i] != 1.0F;
      }
      if (!any_lane(changes)) continue;  // the maximum rarely moves after a few tiles
      MLA_UNROLL
      for (int g = 0; g < T::kGroups; ++g) tile::scale_rows(out_[r][g], keep);
    }
  }

  // Of keys [from, to) of this tile, which some rows see and others do not: adds what
  // clean_values() is about to take, for the rows that see it. Not needed where a value is part of
  // its key, because such a row has a NaN probability. `sees`: keys of the tile that a row sees.
  template <class Sees>
  MLA_DEVICE_MEMBER void keep_infinite(const char* values, int from, int to, Sees sees) {
    constexpr int kWords = 16 * T::kGroups * kElementBytes<M>;  // of a key, in this wave's columns
    const char* columns = values + value_column() * kElementBytes<M>;
    bool found = false;
    for (int i = from * kWords + lane_id(); i < to * kWords; i += kLanes) {
      const u32 word =
          reinterpret_cast<const u32*>(columns + i / kWords * T::kValuePitch)[i % kWords];
      found = found || finite_part<M>(word) != word;
    }
    if (!any_lane(found)) return;
    for (int key = from; key < to; ++key) add_infinite(values + key * T::kValuePitch, key, sees);
  }

  // Keys that some rows of this tile see and others do not: for those a probability of 0 meets the
  // value, and 0 times NaN or infinity would be NaN.
  MLA_DEVICE_MEMBER void clean_values(char* values, int from, int to) const {
    constexpr int kWords = T::kValueDims * kElementBytes<M> / 4;
    for (int i = from * kWords + thread_id(); i < to * kWords; i += T::kThreads) {
      u32* word = reinterpret_cast<u32*>(values + i / kWords * T::kValuePitch) + i % kWords;
      *word = finite_part<M>(*word);
    }
  }

  MLA_DEVICE_MEMBER void multiply_values(const char* values) {
    MLA_UNROLL
    for (int k = 0; k < T::kKeys; k += tile::kKeyStep) {
      MLA_UNROLL
      for (int g = 0; g < T::kGroups; ++g) {
        const tile::Values<M> value =
            tile::load_values<M>(values, T::kValuePitch, k, value_column() + 64 * g);
        MLA_UNROLL
        for (int r = 0; r < T::kValueBlocks; ++r) {
          const auto weight =
              tile::load_fragment<M>(lds_.scores[0], T::kScorePitch, 16 * (value_block() + r), k);
          tile::multiply_add(out_[r][g], weight, value);
          if (r % 2 == 1) keep_schedule();
        }
      }
    }
  }

  // Divides by the sums: the factors of all rows are in LDS after the next barrier. The thread
  // that gets `true` has the row's LSE. A barrier must come before.
  MLA_DEVICE_MEMBER bool finish_row(float out_scale, float& lse) {
    float sum = sum_;
    MLA_UNROLL
    for (int mask = 1; mask < T::kRowThreads; mask *= 2) sum += shuffle_xor(sum, mask);
    if (thread_id() % T::kRowThreads != 0) return false;
    lds_.factor[thread_id() / T::kRowThreads] = sum == 0 ? 0.0F : out_scale / sum;
    lse = sum == 0 ? -kInfinity : (maximum_ + log2_of(sum)) * kLn2;
    return true;
  }

  // store(row, column, value) with tile::kRunLength adjacent values, for all rows below `count`.
  template <class Store>
  MLA_DEVICE_MEMBER void store_rows(int count, Store store) const {
    MLA_UNROLL
    for (int r = 0; r < T::kValueBlocks; ++r) {
      MLA_UNROLL
      for (int held = 0; held < tile::kHeldRows; ++held) {
        const int row = 16 * (value_block() + r) + tile::held_row(held);
        if (row >= count) continue;
        const float factor = lds_.factor[row];
        MLA_UNROLL
        for (int g = 0; g < T::kGroups; ++g) {
          MLA_UNROLL
          for (int run = 0; run < tile::kRuns; ++run) {
            float value[tile::kRunLength];
            MLA_UNROLL
            for (int i = 0; i < tile::kRunLength; ++i) {
              const float sum = tile::run_element(out_[r][g], held, run, i);
              value[i] = factor == 0 ? 0.0F : sum * factor;
            }
            store(row, value_column() + 64 * g + tile::run_column(run), value);
          }
        }
      }
    }
  }

 private:
  MLA_DEVICE_MEMBER float* scores(int dim_wave, int row) {
    return reinterpret_cast<float*>(lds_.scores[dim_wave] + row * T::kScorePitch);
  }

  MLA_DEVICE_MEMBER void store_weights(char* to, int k, float a, float b) const {
#if MLA_AMD
    if constexpr (sizeof(M) == 1) {
      reinterpret_cast<u16*>(to)[k / 2] = fp8_pair(a, b);
      return;
    }
#else
    if constexpr (T::kFp8Weights) {
      a = round_to_fp8(a, code_);
      b = round_to_fp8(b, code_);
    }
#endif
    reinterpret_cast<u32*>(to)[k / 2] = bf16_pair(a, b);
  }

  // The first of the row blocks and of the columns whose values this wave sums up.
  MLA_DEVICE_MEMBER int value_block() const {
    return wave_id() / T::kColumnWaves * T::kValueBlocks;
  }
  MLA_DEVICE_MEMBER int value_column() const {
    return wave_id() % T::kColumnWaves * (64 * T::kGroups);
  }

  template <class Sees>
  MLA_DEVICE_MEMBER void add_infinite(const char* value, int key, Sees sees) {
    float infinite[T::kGroups][tile::kRuns][tile::kRunLength];  // the element, or 0 if it is finite
    MLA_UNROLL
    for (int g = 0; g < T::kGroups; ++g) {
      MLA_UNROLL
      for (int run = 0; run < tile::kRuns; ++run) {
        const int column = value_column() + 64 * g + tile::run_column(run);
        MLA_UNROLL
        for (int i = 0; i < tile::kRunLength; ++i)
          infinite[g][run][i] = infinite_element<M>(value + (column + i) * kElementBytes<M>);
      }
    }
    MLA_UNROLL
    for (int r = 0; r < T::kValueBlocks; ++r) {
      MLA_UNROLL
      for (int held = 0; held < tile::kHeldRows; ++held) {
        const int row = 16 * (value_block() + r) + tile::held_row(held);
        const bool seen = key < sees(row);
        float weight = 1;  // no fp8 value is infinite, and NaN takes no weight
        if constexpr (sizeof(M) == 2)
          weight = float_of_bf16(
              reinterpret_cast<const u16*>(lds_.scores[0] + row * T::kScorePitch)[key]);
        MLA_UNROLL
        for (int g = 0; g < T::kGroups; ++g) {
          MLA_UNROLL
          for (int run = 0; run < tile::kRuns; ++run) {
            MLA_UNROLL
            for (int i = 0; i < tile::kRunLength; ++i)
              if (seen && infinite[g][run][i] != 0)
                tile::add_to_element(out_[r][g], held, run, i, weight * infinite[g][run][i]);
          }
        }
      }
    }
  }

  Lds& lds_;
  Fp8Code code_;
  float score_scale_;
  int visible_;
  float maximum_ = -kInfinity;  // of this thread's row, scaled, base 2
  float sum_ = 0;               // of this thread's keys of it
  Query query_;
  tile::Group out_[T::kValueBlocks][T::kGroups];
};

}  // namespace mla::hip

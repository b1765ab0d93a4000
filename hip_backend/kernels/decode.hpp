// Stage 1 of MLA decode: attention of packed query rows over one piece of a paged latent cache.
//
// One text for gfx942, gfx950 and sm_90; the differences are in tile.hpp and layout.hpp. A
// workgroup takes a block of packed rows of a piece and walks over its keys tile by tile: scores by
// matrix instructions into LDS, online softmax in base 2 with several threads a row, probabilities
// rounded to bf16 (to fp8 when query and cache both are) in the place of the scores, values by
// matrix instructions into registers. A key is 576 elements, of which the first 512 are also its
// value. Writes normalised f32 partials and their natural-log LSE, or the output in bf16 when the
// piece is the whole of its rows. A row without a visible key gets 0 and -inf.
#pragma once

#include "hip_backend/kernels/arguments.hpp"
#include "hip_backend/kernels/decode_traits.hpp"
#include "hip_backend/kernels/gpu.hpp"
#include "hip_backend/kernels/key_stage.hpp"
#include "hip_backend/kernels/numbers.hpp"
#include "hip_backend/kernels/piece.hpp"
#include "hip_backend/kernels/tile.hpp"

namespace mla::hip {

template <class T>
class Decode {
  using M = typename T::M;
  using Lds = typename T::Lds;
  using Query = tile::Query<M, T::kRowBlocks, T::kSteps>;

 public:
  MLA_DEVICE_MEMBER Decode(const DecodeArguments& a, const Piece& piece, int first, Lds& lds)
      : a_(a), piece_(piece), lds_(lds), first_(first) {
    count_ = min_of((piece.q_end - piece.q_begin) * a.heads - first, T::kRows);
    const int row = thread_id() / T::kRowThreads;
    visible_ = row < count_ ? piece.visible((first + row) / a.heads) : 0;
    fewest_ = piece.visible(first / a.heads);
    most_ = piece.visible((first + count_ - 1) / a.heads);
  }

  MLA_DEVICE_MEMBER void run() {
    const int tiles = ceil_div(most_, T::kKeys);
    barrier();  // the block before this one is done with the LDS
    for (int k = thread_id(); k < 2 * T::kKeys; k += T::kThreads)
      lds_.rows[k / T::kKeys][k % T::kKeys] = slot_of(k);
    const i64 row = static_cast<i64>(piece_.q_begin) * a_.heads + first_;
    const char* q =
        static_cast<const char*>(a_.q) + row * (576 * kElementBytes<typename T::QueryElement>);
    load_query(q);
    barrier();
    if (tiles > 0) stage_.fetch(a_.cache, lds_.rows[0], lds_.keys[0]);
    for (int t = 0; t < tiles; ++t) one_tile(t, tiles);
    finish();
  }

 private:
  // Slot of key i from the cache's first one, or -1 behind the last key that a row sees.
  MLA_DEVICE_MEMBER int slot_of(int i) const {
    if (i >= most_) return -1;
    const int position = piece_.position(i);
    const int page = a_.kv_indices[piece_.first_entry + (position >> a_.page_shift)];
    const int in_page = position & ((1 << a_.page_shift) - 1);
    return static_cast<int>((static_cast<i64>(page) << a_.page_shift) + in_page - a_.first_slot);
  }

  MLA_DEVICE_MEMBER Fp8Code code() const { return {a_.fp8_factor, a_.fp8_nan}; }

  MLA_DEVICE_MEMBER void load_query(const char* q) {
    using QE = typename T::QueryElement;
    tile::bring_query<QE, T::kRows, T::kThreads>(q, count_, lds_.q, code());
    const int row_wave = wave_id() % T::L.row_waves;
    const int dim_wave = wave_id() / (T::L.row_waves * T::L.key_waves);
    query_.template load<QE>(q, 16 * T::kRowBlocks * row_wave, count_, T::kSteps * dim_wave,
                             lds_.q);
  }

  MLA_DEVICE_MEMBER void one_tile(int t, int tiles) {
    char* keys = lds_.keys[t % T::kBuffers];
    int ahead = -1;  // slot of one key of the tile after the next
    if (thread_id() < T::kKeys) ahead = slot_of((t + 2) * T::kKeys + thread_id());
    jitter(a_.sleep_seed, 4 * t);
    stage_.commit(keys, code());
    barrier();  // this tile is in LDS, and nobody needs the scores of the last one
    if (t + 1 < tiles)
      stage_.fetch(a_.cache, lds_.rows[(t + 1) % 2], lds_.keys[(t + 1) % T::kBuffers]);
    jitter(a_.sleep_seed, 4 * t + 1);
    multiply_keys(keys);
    if (thread_id() < T::kKeys) lds_.rows[t % 2][thread_id()] = ahead;
    barrier();
    jitter(a_.sleep_seed, 4 * t + 2);
    soften(t * T::kKeys);
    if (fewest_ < min_of(most_, (t + 1) * T::kKeys)) clean_values(keys, t * T::kKeys);
    barrier();
    jitter(a_.sleep_seed, 4 * t + 3);
    multiply_values(keys);
    if constexpr (T::kBuffers == 1) barrier();  // before the next tile takes this one's place
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

  MLA_DEVICE_MEMBER float* scores(int dim_wave, int row) {
    return reinterpret_cast<float*>(lds_.scores[dim_wave] + row * T::kScorePitch);
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
        x[k + i] = base + first + k + i < visible_ ? sums[i] * a_.score_scale : -kInfinity;
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

  MLA_DEVICE_MEMBER void store_weights(char* to, int k, float a, float b) const {
#if MLA_AMD
    if constexpr (sizeof(M) == 1) {
      reinterpret_cast<u16*>(to)[k / 2] = fp8_pair(a, b);
      return;
    }
#else
    if constexpr (T::kFp8Weights) {
      a = round_to_fp8(a, code());
      b = round_to_fp8(b, code());
    }
#endif
    reinterpret_cast<u32*>(to)[k / 2] = bf16_pair(a, b);
  }

  // Keys that some rows of this tile see and others do not: for those a probability of 0 meets the
  // value, and 0 times NaN or infinity would be NaN. A row that does see such a key has a NaN
  // probability already.
  MLA_DEVICE_MEMBER void clean_values(char* keys, int base) const {
    const int from = max_of(fewest_ - base, 0);
    const int to = min_of(most_ - base, T::kKeys);
    constexpr int kWords = 512 * kElementBytes<M> / 4;
    for (int i = from * kWords + thread_id(); i < to * kWords; i += T::kThreads) {
      u32* word = reinterpret_cast<u32*>(keys + i / kWords * T::kPitch) + i % kWords;
      *word = finite_part<M>(*word);
    }
  }

  // The first of the row blocks and of the columns whose values this wave sums up.
  MLA_DEVICE_MEMBER int value_block() const {
    return wave_id() / T::kColumnWaves * T::kValueBlocks;
  }
  MLA_DEVICE_MEMBER int value_column() const {
    return wave_id() % T::kColumnWaves * (64 * T::kGroups);
  }

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

  MLA_DEVICE_MEMBER void multiply_values(const char* keys) {
    rescale();
    MLA_UNROLL
    for (int k = 0; k < T::kKeys; k += tile::kKeyStep) {
      MLA_UNROLL
      for (int g = 0; g < T::kGroups; ++g) {
        const tile::Values<M> value =
            tile::load_values<M>(keys, T::kPitch, k, value_column() + 64 * g);
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
    const int row = thread_id() / T::kRowThreads;
    float sum = sum_;
    MLA_UNROLL
    for (int mask = 1; mask < T::kRowThreads; mask *= 2) sum += shuffle_xor(sum, mask);
    barrier();  // nobody needs the factors of the last tile
    if (thread_id() % T::kRowThreads == 0) {
      lds_.factor[row] = sum == 0 ? 0.0F : a_.out_scale / sum;
      float* lse = piece_.partial_row < 0 ? a_.lse : a_.partial_lse;
      if (row < count_)
        lse[place_of(row)] = sum == 0 ? -kInfinity : (maximum_ + log2_of(sum)) * kLn2;
    }
    barrier();
    MLA_UNROLL
    for (int r = 0; r < T::kValueBlocks; ++r) {
      MLA_UNROLL
      for (int i = 0; i < tile::kHeldRows; ++i) store_row(r, i);
    }
  }

  // Row held_row(held) of this wave's row block r, the columns that this lane has of it.
  MLA_DEVICE_MEMBER void store_row(int r, int held) {
    const int row = 16 * (value_block() + r) + tile::held_row(held);
    if (row >= count_) return;
    const float factor = lds_.factor[row];
    const i64 place = place_of(row) * 512;
    MLA_UNROLL
    for (int g = 0; g < T::kGroups; ++g) {
      MLA_UNROLL
      for (int run = 0; run < tile::kRuns; ++run) {
        const i64 at = place + value_column() + 64 * g + tile::run_column(run);
        float value[tile::kRunLength];
        MLA_UNROLL
        for (int i = 0; i < tile::kRunLength; ++i) {
          const float sum = tile::run_element(out_[r][g], held, run, i);
          value[i] = factor == 0 ? 0.0F : sum * factor;
        }
        store_run(at, value);
      }
    }
  }

  MLA_DEVICE_MEMBER void store_run(i64 at, const float (&value)[tile::kRunLength]) const {
    MLA_UNROLL
    for (int i = 0; i < tile::kRunLength; i += 2) {
      if (piece_.partial_row < 0) {
        *reinterpret_cast<u32*>(a_.out + at + i) =
            bf16_of(value[i], a_.rounding) | static_cast<u32>(bf16_of(value[i + 1], a_.rounding))
                                                 << 16U;
      } else {
        *reinterpret_cast<Bytes8*>(a_.partial_out + at +
                                   i) = {{bits_as<u32>(value[i]), bits_as<u32>(value[i + 1])}};
      }
    }
  }

  const DecodeArguments& a_;
  const Piece& piece_;
  Lds& lds_;
  int first_;                   // packed row of the piece that the block begins with
  int count_;                   // rows of the block
  int visible_;                 // keys that this thread's row sees
  int fewest_;                  // keys that the first row of the block sees
  int most_;                    // keys that its last row sees
  float maximum_ = -kInfinity;  // of this thread's row, scaled, base 2
  float sum_ = 0;               // of this thread's keys of it
  Query query_;
  KeyStage<typename T::KeyElement, M, T::kKeys, T::kThreads, T::kPitch> stage_;
  tile::Group out_[T::kValueBlocks][T::kGroups];
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

// How a workgroup of stage 1 is laid out: rows, keys of a tile, waves, and its LDS.
//
// Shared by the kernels and by the host, which needs the number of threads and, on NVIDIA, the LDS
// of a launch. On NVIDIA waves cover the scores as `row_waves` x `key_waves` x `dim_waves`: a wave
// that sees only a part of the dims leaves a partial sum, which the softmax adds up. For the values
// every wave takes all rows and 512 / waves columns, or, if there are more than eight, a part of
// the rows and 64 columns. Plain constants; nothing fails.
#pragma once

namespace mla::hip {

struct DecodeLayout {
  int rows;     // packed rows of a workgroup
  int threads;  // of a workgroup
  int keys;     // of a tile
  int row_waves;
  int key_waves;
  int dim_waves;
};

// Layouts for 16, 32 and 64 packed rows on NVIDIA; two workgroups of 64 read the same keys for 128.
inline constexpr int kLayouts = 3;
inline constexpr DecodeLayout kNvidiaLayouts[kLayouts] = {
    {16, 256, 64, 1, 4, 2},
    {32, 256, 64, 1, 4, 2},
    {64, 256, 32, 2, 2, 2},
};

// AMD: a wave takes 16 rows or 32, with all columns, and a tile of 32 keys (wave_tile.hpp).
// `row_waves` share out the rows and read the same keys; `key_waves` share out the keys and merge
// at the end. The last layout takes 256 registers for sums and, for bf16, 144 for Q. It is there
// for fp8, and for bf16 on gfx950: transposing values on gfx942 and converting fp8 keys would
// spill.
struct WaveLayout {
  int rows;     // packed rows of a workgroup
  int threads;  // of a workgroup
  int row_waves;
  int key_waves;
};
inline constexpr WaveLayout kWaveLayouts[kLayouts] = {
    {16, 256, 1, 4},
    {64, 256, 4, 1},
    {128, 256, 4, 1},
};

// Prefill: 64 rows of one head; heads are short, so waves share out rows first.
inline constexpr DecodeLayout kAmdPrefill = {64, 256, 32, 4, 1, 1};
inline constexpr DecodeLayout kNvidiaPrefill = {64, 256, 64, 4, 2, 1};

constexpr int key_pitch(int element_bytes) {
  return 576 * element_bytes + 16;
}
// Scores of a row, and in their place its probabilities.
constexpr int score_pitch(const DecodeLayout& l) {
  return 4 * l.keys + 16;
}

// LDS of a workgroup: two tiles of keys, Q, scores, factors of the rows, positions of keys.
constexpr int nvidia_decode_lds_bytes(const DecodeLayout& l) {
  return 2 * l.keys * key_pitch(2) + l.rows * key_pitch(2) + l.dim_waves * l.rows * score_pitch(l) +
         4 * l.rows + 2 * 4 * l.keys;
}

// Two tiles of keys and values, Q (NVIDIA), scores, factors, positions.
constexpr int prefill_lds_bytes(const DecodeLayout& l, int element_bytes, bool query_in_lds) {
  return 2 * l.keys * (192 * element_bytes + 16 + 128 * element_bytes + 16) +
         (query_in_lds ? l.rows * (192 * 2 + 16) : 0) + l.rows * score_pitch(l) + 4 * l.rows +
         2 * 4 * l.keys;
}

}  // namespace mla::hip

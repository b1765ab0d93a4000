// The two matrix products of attend_tile(), for a block of rows and a tile of keys.
//
// Compiled for the baseline and, where the machine has it, for AVX2 with fused multiply-add. Each
// element is one chain of multiply-adds in ascending order of the inner dimension, so that a row
// gives the same bits in any block. Private to cpu_backend/prefill.
#pragma once

#include <cstdint>

namespace mla::cpu {

inline constexpr std::int64_t kBlockRows = 4;

struct RowBlocks {
  // scores[kBlockRows][kTileKeys] = q[kBlockRows][kQkDim] * keys[kQkDim][kTileKeys]
  void (*score)(const float* q, const float* keys, float* scores);
  // out[r] = out[r] * keep[r] + sum over the keys j < seen[r] of p[r][j] * values[j]; a key that a
  // row does not see takes no part, whatever it holds.
  void (*weigh)(const float* p, const std::int64_t* seen, const float* values, const float* keep,
                float* out);
};

// The fastest form that this machine can run, and the one that every machine can.
const RowBlocks& row_blocks();
const RowBlocks& portable_row_blocks();

}  // namespace mla::cpu

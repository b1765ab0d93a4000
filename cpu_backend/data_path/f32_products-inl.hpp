// F32Products: scores and weighted values of a tile in f32, one multiply-add for each product.
//
// Part of the text of a data path, see path-inl.hpp. Q is [strip][dim][row], keys and values are
// one tile [key][dim], read by broadcast.
#pragma once

#include "cpu_backend/data_path/tile-inl.hpp"

namespace mla::cpu {
namespace MLA_PATH_NAMESPACE {

// Elements [d, d + kLanes) of a row of `dims`: zeros after its last one, past which nothing is
// read.
template <ElementKind kKind>
static inline Vec decode_some(const std::byte* row, std::int64_t d, std::int64_t dims) {
  if (d + kLanes <= dims) return decode_vec<kKind>(row, d);
  constexpr std::int64_t size = kKind == ElementKind::bf16 ? 2 : 1;
  std::byte rest[kLanes * size] = {};
  __builtin_memcpy(rest, row + d * size, static_cast<std::size_t>((dims - d) * size));
  return decode_vec<kKind>(rest, 0);
}

struct F32Products {
  static constexpr std::int64_t kKeyPitch = 592;  // an odd number of cache lines: keys in all sets
  struct Scratch : State {
    alignas(64) float q[kMaxAttendRows * kKey];
    alignas(64) float keys[kTileKeys * kKeyPitch];
  };

  // Steps of a group of dims.
  static std::int64_t entries(const Tile& tile) { return tile.n; }

  template <int kVecs>
  static bool load_q(const AttendJob& job, std::int64_t first, Scratch& s) {
    constexpr std::int64_t pitch = kVecs * kLanes;
    float* q = s.q + first * kKey;
    with_kind(job.q_kind, [&]<ElementKind kKind>() {
      for (std::int64_t lane = 0; lane < pitch; lane += kLanes) {
        for (std::int64_t d = 0; d < job.key_dims; d += kLanes) {
          Vec x[kLanes];
          for (std::int64_t r = 0; r < kLanes; ++r) {
            const std::int64_t row = first + lane + r;
            x[r] =
                row < job.row_count ? decode_some<kKind>(job.rows[row].q, d, job.key_dims) : Vec{};
          }
          transpose(x);
          for (std::int64_t i = 0; i < kLanes; ++i) store(q + (d + i) * pitch + lane, x[i]);
        }
      }
    });
    return true;
  }

  static bool load_keys(const AttendJob& job, const Tile& tile, Scratch& s) {
    with_kind(job.kv_kind, [&]<ElementKind kKind>() {
      const std::int64_t whole = job.key_dims / kLanes * kLanes;
      for (std::int64_t k = 0; k < tile.n; ++k) {
        const std::byte* row = job.keys[tile.base + k];
        float* to = s.keys + k * kKeyPitch;
        decode_row<kKind>(row, to, whole);
        if (whole < job.key_dims) store(to + whole, decode_some<kKind>(row, whole, job.key_dims));
      }
    });
    return true;
  }

  // acc[key][row] += key * q over kDimBlock dims from `dim`, for kKeys keys from `key`. The second
  // of two dims comes first, as in an instruction that multiplies pairs.
  template <int kVecs, int kKeys>
  static void add_scores(const Scratch& s, std::int64_t first, std::int64_t key, std::int64_t dim,
                         NextKeys& next, Vec (&acc)[kKeys][kVecs]) {
    constexpr std::int64_t pitch = kVecs * kLanes;
    const float* q = s.q + first * kKey;
    const float* keys = s.keys + key * kKeyPitch;
    const auto add = [&](std::int64_t dims) __attribute__((always_inline)) {
      for (std::int64_t pair = dim; pair < dim + dims; pair += 2) {
        next.step();
        for (std::int64_t d = pair + 1; d >= pair; --d) {
          Vec qd[kVecs];
          for (int v = 0; v < kVecs; ++v) qd[v] = load(q + d * pitch + v * kLanes);
          MLA_UNROLL
          for (int k = 0; k < kKeys; ++k) {
            const float x = keys[k * kKeyPitch + d];
            for (int v = 0; v < kVecs; ++v) acc[k][v] += x * qd[v];
          }
        }
      }
    };
    // The number of a whole block is known to the compiler.
    const std::int64_t left = s.key_dims - dim;
    if (left >= kDimBlock)
      add(kDimBlock);
    else
      add(left);
  }

  template <int kVecs>
  static void take_weights(const Tile&, Scratch&) {}

  // acc[dim][row] += value * probability over the keys of the tile, for kDims dims from `dim`.
  template <int kVecs, int kDims>
  static void add_values(const Scratch& s, const Tile& tile, const std::int32_t* visible,
                         std::int64_t dim, NextKeys& next, Vec (&acc)[kDims][kVecs]) {
    constexpr std::int64_t pitch = kVecs * kLanes;
    const float* values = s.keys + dim;
    Vec sums[kDims][kVecs]{};
    for (std::int64_t k = 0; k < tile.full; ++k) {
      next.step();
      Vec p[kVecs];
      for (int v = 0; v < kVecs; ++v) p[v] = load(s.scores + k * pitch + v * kLanes);
      MLA_UNROLL
      for (int d = 0; d < kDims; ++d)
        for (int v = 0; v < kVecs; ++v) sums[d][v] += values[k * kKeyPitch + d] * p[v];
    }
    MLA_UNROLL
    for (int d = 0; d < kDims; ++d)
      for (int v = 0; v < kVecs; ++v) acc[d][v] = sums[d][v];
    if (tile.full < tile.n) add_partly_seen<kVecs, kDims>(s, tile, visible, dim, acc);
  }

 private:
  // Not inlined, or its registers are taken from the loop above.
  template <int kVecs, int kDims>
  [[gnu::noinline]] static void add_partly_seen(const Scratch& s, const Tile& tile,
                                                const std::int32_t* visible, std::int64_t dim,
                                                Vec (&acc)[kDims][kVecs]) {
    constexpr std::int64_t pitch = kVecs * kLanes;
    const float* values = s.keys + dim;
    // 0 times the NaN of a key that the row does not see would be NaN.
    for (std::int64_t k = tile.full; k < tile.n; ++k) {
      for (int v = 0; v < kVecs; ++v) {
        const Vec p = load(s.scores + k * pitch + v * kLanes);
        const Int seen = seen_by(visible + v * kLanes, tile.base + k);
        MLA_UNROLL
        for (int d = 0; d < kDims; ++d)
          acc[d][v] = seen ? acc[d][v] + values[k * kKeyPitch + d] * p : acc[d][v];
      }
    }
  }
};

}  // namespace MLA_PATH_NAMESPACE
}  // namespace mla::cpu

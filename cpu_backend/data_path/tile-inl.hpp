// A tile of keys against a strip of packed rows: scores, softmax, weighted values.
//
// Part of the text of a data path, see path-inl.hpp, which describes the layouts. `Products` are
// the multiply-adds (f32_products-inl.hpp, bf16_products-inl.hpp).
#pragma once

#include "cpu_backend/data_path/vector-inl.hpp"

namespace mla::cpu {
namespace MLA_PATH_NAMESPACE {

constexpr std::int64_t kKey = 576;    // dimensions that there is room for: of a key
constexpr std::int64_t kValue = 512;  // and of a value

// Keys [base, base + n) of a job; every row sees the first `full` of them.
struct Tile {
  std::int64_t base;
  std::int64_t n;
  std::int64_t full;
};

// Of a call's rows, strip by strip.
struct State {
  alignas(64) float out[kMaxAttendRows * kValue];  // not yet divided by `sum`
  alignas(64) float maximum[kMaxAttendRows];       // of the scaled scores in base 2
  alignas(64) float sum[kMaxAttendRows];
  alignas(64) std::int32_t visible[kMaxAttendRows];
  alignas(64) float scores[kTileKeys * 2 * kLanes];  // of one strip, then its probabilities
  std::int64_t key_dims;                             // of the job, up to a pair
  std::int64_t value_dims;
};

static inline Int seen_by(const std::int32_t* visible, std::int64_t key) {
  return *reinterpret_cast<const Int*>(visible) > static_cast<std::int32_t>(key);
}

// Keys lie anywhere in memory, so those of the next tile are called for while this one is computed,
// line by line at an even pace: a burst would wait for the memory. They are called into the second
// cache, for a tile of them is more than the first holds. After the last tile come the keys of the
// next job.
class NextKeys {
 public:
  // After key `end` of `most`, in so many steps.
  NextKeys(const AttendJob& job, std::int64_t end, std::int64_t most, std::int64_t steps)
      : keys_(end < most ? job.keys + end : job.next_keys),
        bytes_(job.kv_kind == ElementKind::bf16 ? 2 * job.key_dims : job.key_dims),
        steps_(steps) {
    std::int64_t keys = end < most ? most - end : job.next_key_count;
    if (keys > kTileKeys) keys = kTileKeys;
    left_ = lines_ = keys * ((bytes_ + 63) / 64 + 1);
  }
  void step() {
    for (due_ += lines_; due_ >= steps_ && left_ > 0; due_ -= steps_) {
      --left_;
      if (at_ < bytes_) {
        __builtin_prefetch(*keys_ + at_, 0, 2);
        at_ += 64;
      } else {
        __builtin_prefetch(*keys_ + bytes_ - 1, 0, 2);
        at_ = 0, ++keys_;
      }
    }
  }

 private:
  const std::byte* const* keys_;
  std::int64_t bytes_;
  std::int64_t steps_;
  std::int64_t lines_ = 0;
  std::int64_t left_ = 0;
  std::int64_t due_ = 0;  // in shares of a line of which steps_ are one
  std::int64_t at_ = 0;
};

// Keys or dims are summed in groups: so many sums in registers hide the latency of the adders.
constexpr int kSums = MLA_PATH_SUMS;
#define MLA_UNROLL _Pragma("GCC unroll 24")
constexpr std::int64_t kDimBlock = 288;  // of a strip of Q, so that it stays in the first cache

// Scales and masks the scores, moves the running maximum, and leaves rounded probabilities in their
// place. Returns through `keep` what earlier sums are to be multiplied with.
template <int kVecs>
static void softmax_tile(const AttendJob& job, std::int64_t first, const Tile& tile, State& s,
                         Vec (&keep)[kVecs]) {
  constexpr std::int64_t pitch = kVecs * kLanes;
  const float scale = job.score_scale * 1.44269504088896341F;  // log2(e)
  for (int v = 0; v < kVecs; ++v) {
    float* column = s.scores + v * kLanes;
    const std::int64_t rows = first + v * kLanes;
    const Vec before = load(s.maximum + rows);
    Vec top = before;
    for (std::int64_t k = 0; k < tile.n; ++k) {
      const Int seen = seen_by(s.visible + rows, tile.base + k);
      const Vec x = seen ? load(column + k * pitch) * scale : splat(-kInfinity);
      store(column + k * pitch, x);
      top = larger(top, x);
    }
    // Without a key so far the maximum is -inf; 0 in its place gives weight 0 everywhere.
    const Vec centre = top == -kInfinity ? Vec{} : top;
    keep[v] = exp2_of(before - centre);
    Vec sum{};
    for (std::int64_t k = 0; k < tile.n; ++k) {
      const Vec p = exp2_of(load(column + k * pitch) - centre);
      sum += p;
      store(column + k * pitch, round_to(job.p_kind, p));
    }
    store(s.maximum + rows, top);
    store(s.sum + rows, load(s.sum + rows) * keep[v] + sum);
  }
}

// scores[key][row] += sum over kDimBlock dims from `dim`, or those that are left, of key * q, for
// kKeys keys.
template <class Products, int kVecs, int kKeys>
static void score_keys(typename Products::Scratch& s, std::int64_t first, std::int64_t key,
                       std::int64_t dim, NextKeys& next) {
  constexpr std::int64_t pitch = kVecs * kLanes;
  float* scores = s.scores + key * pitch;
  Vec acc[kKeys][kVecs];
  MLA_UNROLL
  for (int k = 0; k < kKeys; ++k)
    for (int v = 0; v < kVecs; ++v)
      acc[k][v] = dim == 0 ? Vec{} : load(scores + k * pitch + v * kLanes);
  Products::template add_scores<kVecs, kKeys>(s, first, key, dim, next, acc);
  MLA_UNROLL
  for (int k = 0; k < kKeys; ++k)
    for (int v = 0; v < kVecs; ++v) store(scores + k * pitch + v * kLanes, acc[k][v]);
}

// The keys of a tile in groups, and the rest, if any, as one smaller group.
template <class Products, int kVecs, int kRest>
static inline void score_rest(typename Products::Scratch& s, std::int64_t first, std::int64_t key,
                              std::int64_t rest, std::int64_t dim, NextKeys& next) {
  if (rest == kRest) return score_keys<Products, kVecs, kRest>(s, first, key, dim, next);
  if constexpr (kRest > 1) score_rest<Products, kVecs, kRest - 1>(s, first, key, rest, dim, next);
}

template <class Products, int kVecs>
static void score_tile(typename Products::Scratch& s, std::int64_t first, std::int64_t n,
                       NextKeys& next) {
  constexpr int group = kSums / kVecs;
  for (std::int64_t dim = 0; dim < s.key_dims; dim += kDimBlock) {
    std::int64_t key = 0;
    for (; key + group <= n; key += group)
      score_keys<Products, kVecs, group>(s, first, key, dim, next);
    score_rest<Products, kVecs, group - 1>(s, first, key, n - key, dim, next);
  }
}

// out[dim][row] = out * keep + sum over keys of value * probability, for kDims dims; in the first
// tile there is no earlier sum.
template <class Products, int kVecs, int kDims>
static void weigh_dims(typename Products::Scratch& s, std::int64_t first, const Tile& tile,
                       std::int64_t dim, const Vec (&keep)[kVecs], NextKeys& next) {
  constexpr std::int64_t pitch = kVecs * kLanes;
  Vec acc[kDims][kVecs];
  MLA_UNROLL
  for (int d = 0; d < kDims; ++d)
    for (int v = 0; v < kVecs; ++v) acc[d][v] = Vec{};
  Products::template add_values<kVecs, kDims>(s, tile, s.visible + first, dim, next, acc);
  float* out = s.out + first * kValue + dim * pitch;
  MLA_UNROLL
  for (int d = 0; d < kDims; ++d) {
    for (int v = 0; v < kVecs; ++v) {
      float* to = out + d * pitch + v * kLanes;
      store(to, tile.base == 0 ? acc[d][v] : load(to) * keep[v] + acc[d][v]);
    }
  }
}

// How many steps the products of a strip with a tile make.
template <class Products, int kVecs>
std::int64_t steps_of(const Tile& tile, const State& s) {
  constexpr int group = kSums / kVecs;
  return (tile.n + group - 1) / group * (s.key_dims / 2) +
         (s.value_dims + group - 1) / group * Products::entries(tile);
}

template <class Products, int kVecs>
static void weigh_tile(typename Products::Scratch& s, std::int64_t first, const Tile& tile,
                       const Vec (&keep)[kVecs], NextKeys& next) {
  constexpr int group = kSums / kVecs;
  constexpr int rest = kValue % group;
  Products::template take_weights<kVecs>(tile, s);
  const std::int64_t dims = s.value_dims;
  std::int64_t dim = 0;
  for (; dim + group <= dims; dim += group)
    weigh_dims<Products, kVecs, group>(s, first, tile, dim, keep, next);
  if constexpr (rest > 0) {
    for (; dim + rest <= dims; dim += rest)
      weigh_dims<Products, kVecs, rest>(s, first, tile, dim, keep, next);
  }
  for (; dim < dims; ++dim) weigh_dims<Products, kVecs, 1>(s, first, tile, dim, keep, next);
}

}  // namespace MLA_PATH_NAMESPACE
}  // namespace mla::cpu

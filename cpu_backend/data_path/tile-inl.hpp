// One tile of keys against one strip of packed rows: scores, softmax, weighted values.
//
// Part of the text of a data path, see path-inl.hpp, which describes the layouts.
#include "cpu_backend/data_path/vector-inl.hpp"

namespace mla::cpu {
namespace MLA_PATH_NAMESPACE {

constexpr std::int64_t kKey = 576;       // dimensions of a key: 512 latent and 64 rope
constexpr std::int64_t kValue = 512;     // the latent ones are also the value
constexpr std::int64_t kKeyPitch = 592;  // an odd number of cache lines: keys spread over all sets

// The state of one call, carved out of the scratch. `pitch` is the number of rows of a strip.
struct Strip {
  float* q;               // [kKey][pitch]
  float* out;             // [kValue][pitch], not yet divided by `sum`
  float* maximum;         // [pitch], of the scaled scores in base 2
  float* sum;             // [pitch]
  std::int32_t* visible;  // [pitch]
};

struct Scratch {
  alignas(64) float q[kMaxAttendRows * kKey];
  alignas(64) float out[kMaxAttendRows * kValue];
  alignas(64) float maximum[kMaxAttendRows];
  alignas(64) float sum[kMaxAttendRows];
  alignas(64) std::int32_t visible[kMaxAttendRows];
  alignas(64) float keys[kTileKeys * kKeyPitch];
  alignas(64) float scores[kTileKeys * 2 * kLanes];
};

// scores[key][row] += sum over dims [first, last) of key * q, for kKeys keys.
template <int kVecs, int kKeys>
static inline void score_keys(const float* keys, const float* q, std::int64_t first,
                              std::int64_t last, float* scores) {
  constexpr std::int64_t pitch = kVecs * kLanes;
  Vec acc[kKeys][kVecs];
  for (int k = 0; k < kKeys; ++k)
    for (int v = 0; v < kVecs; ++v)
      acc[k][v] = first == 0 ? Vec{} : load(scores + k * pitch + v * kLanes);
  for (std::int64_t d = first; d < last; ++d) {
    Vec qd[kVecs];
    for (int v = 0; v < kVecs; ++v) qd[v] = load(q + d * pitch + v * kLanes);
    for (int k = 0; k < kKeys; ++k) {
      const float key = keys[k * kKeyPitch + d];
      for (int v = 0; v < kVecs; ++v) acc[k][v] += key * qd[v];
    }
  }
  for (int k = 0; k < kKeys; ++k)
    for (int v = 0; v < kVecs; ++v) store(scores + k * pitch + v * kLanes, acc[k][v]);
}

// Keys or dims that are summed at once: twelve sums in registers hide the latency of the adders.
template <int kVecs>
constexpr int kGroup = 12 / kVecs;
constexpr std::int64_t kDimBlock = 288;  // of a strip of Q, so that it stays in the first cache

// The keys of a tile in groups, and the rest, if any, as one smaller group.
template <int kVecs, int kRest>
static inline void score_rest(std::int64_t rest, const float* keys, const float* q, std::int64_t d,
                              float* scores) {
  if (rest == kRest) return score_keys<kVecs, kRest>(keys, q, d, d + kDimBlock, scores);
  if constexpr (kRest > 1) score_rest<kVecs, kRest - 1>(rest, keys, q, d, scores);
}

template <int kVecs>
static void score_tile(const Scratch& s, const Strip& strip, std::int64_t n, float* scores) {
  constexpr std::int64_t pitch = kVecs * kLanes;
  for (std::int64_t d = 0; d < kKey; d += kDimBlock) {
    std::int64_t k = 0;
    for (; k + kGroup<kVecs> <= n; k += kGroup<kVecs>) {
      score_keys<kVecs, kGroup<kVecs>>(s.keys + k * kKeyPitch, strip.q, d, d + kDimBlock,
                                       scores + k * pitch);
    }
    score_rest<kVecs, kGroup<kVecs> - 1>(n - k, s.keys + k * kKeyPitch, strip.q, d,
                                         scores + k * pitch);
  }
}

// Scales and masks the scores, moves the running maximum, and leaves rounded probabilities in their
// place. Returns through `keep` what earlier sums are to be multiplied with. `base`: number of the
// tile's first key.
template <int kVecs>
static void softmax_tile(const AttendJob& job, const Strip& strip, std::int64_t base,
                         std::int64_t n, float* scores, Vec (&keep)[kVecs]) {
  constexpr std::int64_t pitch = kVecs * kLanes;
  const float scale = job.score_scale * 1.44269504088896341F;  // log2(e)
  for (int v = 0; v < kVecs; ++v) {
    const Int visible = *reinterpret_cast<const Int*>(strip.visible + v * kLanes);
    float* column = scores + v * kLanes;
    const Vec before = load(strip.maximum + v * kLanes);
    Vec top = before;
    for (std::int64_t k = 0; k < n; ++k) {
      const Int seen = visible > static_cast<std::int32_t>(base + k);
      const Vec x = seen ? load(column + k * pitch) * scale : splat(-kInfinity);
      store(column + k * pitch, x);
      top = larger(top, x);
    }
    // Without a key so far the maximum is -inf; 0 in its place gives weight 0 everywhere.
    const Vec centre = top == -kInfinity ? Vec{} : top;
    keep[v] = exp2_of(before - centre);
    Vec sum{};
    for (std::int64_t k = 0; k < n; ++k) {
      const Vec p = exp2_of(load(column + k * pitch) - centre);
      sum += p;
      store(column + k * pitch, round_to(job.p_kind, p));
    }
    store(strip.maximum + v * kLanes, top);
    store(strip.sum + v * kLanes, load(strip.sum + v * kLanes) * keep[v] + sum);
  }
}

// out[dim][row] = out * keep + sum over keys of value * probability, for kDims dims; `fresh`: there
// is no earlier sum. kMasked: a
// probability of 0 takes no part, because 0 times the NaN of a key that the row must not see is
// NaN.
template <int kVecs, int kDims, bool kMasked>
static inline void weigh_dims(const float* values, const float* p, std::int64_t n, float* out,
                              const Vec (&keep)[kVecs], bool fresh) {
  constexpr std::int64_t pitch = kVecs * kLanes;
  Vec acc[kDims][kVecs];
  for (int d = 0; d < kDims; ++d)
    for (int v = 0; v < kVecs; ++v) acc[d][v] = Vec{};
  for (std::int64_t k = 0; k < n; ++k) {
    Vec pk[kVecs];
    for (int v = 0; v < kVecs; ++v) pk[v] = load(p + k * pitch + v * kLanes);
    for (int d = 0; d < kDims; ++d) {
      const float value = values[k * kKeyPitch + d];
      for (int v = 0; v < kVecs; ++v) {
        const Vec sum = acc[d][v] + value * pk[v];
        acc[d][v] = kMasked ? (pk[v] == 0.0F ? acc[d][v] : sum) : sum;
      }
    }
  }
  for (int d = 0; d < kDims; ++d) {
    for (int v = 0; v < kVecs; ++v) {
      float* to = out + d * pitch + v * kLanes;
      store(to, fresh ? acc[d][v] : load(to) * keep[v] + acc[d][v]);
    }
  }
}

template <int kVecs, bool kMasked>
static void weigh_tile(const Scratch& s, const Strip& strip, const float* p, std::int64_t n,
                       const Vec (&keep)[kVecs], bool fresh) {
  constexpr std::int64_t pitch = kVecs * kLanes;
  constexpr int rest = kValue % kGroup<kVecs>;
  std::int64_t d = 0;
  for (; d + kGroup<kVecs> <= kValue; d += kGroup<kVecs>)
    weigh_dims<kVecs, kGroup<kVecs>, kMasked>(s.keys + d, p, n, strip.out + d * pitch, keep, fresh);
  weigh_dims<kVecs, rest, kMasked>(s.keys + d, p, n, strip.out + d * pitch, keep, fresh);
}

}  // namespace MLA_PATH_NAMESPACE
}  // namespace mla::cpu

// The text of a data path: attention of up to 128 packed rows over a list of keys, tile by tile.
//
// Included once by each path_*.cpp, which defines MLA_PATH_NAMESPACE and MLA_PATH_BYTES (the width
// of its vectors) and is compiled with the flags of its instruction set. Nothing here may call an
// inline function from outside (data_path.hpp says why); everything lives in that namespace.
//
// Lanes hold packed rows, so that the softmax of a row never crosses lanes and a row's bits do not
// depend on its neighbours. Rows come in strips of one or two vectors. Q is kept transposed as
// [strip][dim][row], probabilities as [key][row], the output as [strip][dim][row]; keys and values
// are one f32 tile [key][dim], read by broadcast. All sums are f32.
#include "cpu_backend/data_path/tile-inl.hpp"

namespace mla::cpu {
namespace MLA_PATH_NAMESPACE {

template <int kVecs>
static void load_strip(const AttendJob& job, std::int64_t first, const Strip& strip) {
  constexpr std::int64_t pitch = kVecs * kLanes;
  for (std::int64_t r = 0; r < pitch; ++r) {
    strip.maximum[r] = -kInfinity;
    strip.sum[r] = 0;
    strip.visible[r] =
        first + r < job.row_count ? static_cast<std::int32_t>(job.rows[first + r].visible) : 0;
  }
  with_kind(job.q_kind, [&]<ElementKind kKind>() {
    for (std::int64_t lane = 0; lane < pitch; lane += kLanes) {
      for (std::int64_t d = 0; d < kKey; d += kLanes) {
        Vec x[kLanes];
        for (std::int64_t r = 0; r < kLanes; ++r) {
          const std::int64_t row = first + lane + r;
          x[r] = row < job.row_count ? decode_vec<kKind>(job.rows[row].q, d) : Vec{};
        }
        transpose(x);
        for (std::int64_t i = 0; i < kLanes; ++i) store(strip.q + (d + i) * pitch + lane, x[i]);
      }
    }
  });
}

template <int kVecs>
static void store_strip(const AttendJob& job, std::int64_t first, const Strip& strip) {
  constexpr std::int64_t pitch = kVecs * kLanes;
  for (std::int64_t lane = 0; lane < pitch; lane += kLanes) {
    const Vec sum = load(strip.sum + lane);
    const Vec factor = job.out_scale / sum;
    for (std::int64_t d = 0; d < kValue; d += kLanes) {
      Vec x[kLanes];
      for (std::int64_t i = 0; i < kLanes; ++i)
        x[i] = sum == 0.0F ? Vec{} : load(strip.out + (d + i) * pitch + lane) * factor;
      transpose(x);
      for (std::int64_t r = 0; r < kLanes && first + lane + r < job.row_count; ++r)
        *reinterpret_cast<Loose*>(job.rows[first + lane + r].out + d) = x[r];
    }
  }
  for (std::int64_t r = 0; r < pitch && first + r < job.row_count; ++r)
    *job.rows[first + r].lse =
        strip.sum[r] == 0 ? -kInfinity
                          : strip.maximum[r] * 0.693147180559945309F + __builtin_logf(strip.sum[r]);
}

// Decodes the keys of a tile. Keys lie anywhere in memory, so those a little ahead are called for.
static void load_keys(const AttendJob& job, std::int64_t base, std::int64_t n, Scratch& s) {
  constexpr std::int64_t ahead = 4;
  with_kind(job.kv_kind, [&]<ElementKind kKind>() {
    constexpr std::int64_t bytes = kKey * (kKind == ElementKind::bf16 ? 2 : 1);
    for (std::int64_t k = base; k < base + n; ++k) {
      if (k + ahead < job.key_count)
        for (std::int64_t line = 0; line < bytes; line += 64)
          __builtin_prefetch(job.keys[k + ahead] + line);
      decode_row<kKind>(job.keys[k], s.keys + (k - base) * kKeyPitch, kKey);
    }
  });
}

template <int kVecs>
static Strip strip_at(Scratch& s, std::int64_t first) {
  return {s.q + first * kKey, s.out + first * kValue, s.maximum + first, s.sum + first,
          s.visible + first};
}

template <int kVecs>
static void attend_strips(const AttendJob& job, Scratch& s) {
  constexpr std::int64_t pitch = kVecs * kLanes;
  for (std::int64_t first = 0; first < job.row_count; first += pitch)
    load_strip<kVecs>(job, first, strip_at<kVecs>(s, first));
  std::int64_t fewest = job.key_count;
  std::int64_t most = 0;
  for (std::int64_t r = 0; r < job.row_count; ++r) {
    if (job.rows[r].visible < fewest) fewest = job.rows[r].visible;
    if (job.rows[r].visible > most) most = job.rows[r].visible;
  }
  for (std::int64_t base = 0; base < most; base += kTileKeys) {
    const std::int64_t n = most - base < kTileKeys ? most - base : kTileKeys;
    load_keys(job, base, n, s);
    const bool masked = fewest < base + n;
    for (std::int64_t first = 0; first < job.row_count; first += pitch) {
      const Strip strip = strip_at<kVecs>(s, first);
      Vec keep[kVecs];
      score_tile<kVecs>(s, strip, n, s.scores);
      softmax_tile<kVecs>(job, strip, base, n, s.scores, keep);
      if (masked) {
        weigh_tile<kVecs, true>(s, strip, s.scores, n, keep, base == 0);
      } else {
        weigh_tile<kVecs, false>(s, strip, s.scores, n, keep, base == 0);
      }
    }
  }
  for (std::int64_t first = 0; first < job.row_count; first += pitch)
    store_strip<kVecs>(job, first, strip_at<kVecs>(s, first));
}

static std::size_t scratch_bytes() {
  return sizeof(Scratch);
}

static void attend(const AttendJob& job, std::byte* scratch) {
  Scratch& s = *reinterpret_cast<Scratch*>(scratch);
  if (job.row_count <= kLanes)
    attend_strips<1>(job, s);
  else
    attend_strips<2>(job, s);
}

static void decode(ElementKind kind, const std::byte* bits, float* values, std::int64_t n) {
  with_kind(kind, [&]<ElementKind kKind>() { decode_row<kKind>(bits, values, n); });
}

static void round(ElementKind kind, const float* in, float* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += kLanes)
    *reinterpret_cast<Loose*>(out + i) = round_to(kind, *reinterpret_cast<const Loose*>(in + i));
}

static void exp2(const float* in, float* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += kLanes)
    *reinterpret_cast<Loose*>(out + i) = exp2_of(*reinterpret_cast<const Loose*>(in + i));
}

}  // namespace MLA_PATH_NAMESPACE
}  // namespace mla::cpu

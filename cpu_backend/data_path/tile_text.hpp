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
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstdint>
#include <utility>

#include "cpu_backend/data_path/data_path.hpp"

namespace mla::cpu {
namespace MLA_PATH_NAMESPACE {

constexpr std::int64_t kLanes = MLA_PATH_BYTES / 4;
constexpr std::int64_t kKey = 576;       // dimensions of a key: 512 latent and 64 rope
constexpr std::int64_t kValue = 512;     // the latent ones are also the value
constexpr std::int64_t kKeyPitch = 592;  // an odd number of cache lines: keys spread over all sets

typedef float Vec __attribute__((vector_size(MLA_PATH_BYTES), may_alias));
typedef std::int32_t Int __attribute__((vector_size(MLA_PATH_BYTES), may_alias));
typedef std::uint32_t Bits __attribute__((vector_size(MLA_PATH_BYTES), may_alias));
typedef std::uint16_t Half __attribute__((vector_size(MLA_PATH_BYTES / 2), may_alias, aligned(2)));
typedef std::uint8_t Byte __attribute__((vector_size(MLA_PATH_BYTES / 4), may_alias, aligned(1)));
typedef float Loose __attribute__((vector_size(MLA_PATH_BYTES), may_alias, aligned(4)));

constexpr float kInfinity = __builtin_inff();

static inline Vec splat(float x) {
  return x - Vec{};  // not x + 0, which is another value for -0 and costs an addition
}
static inline Vec load(const float* p) {
  return *reinterpret_cast<const Vec*>(p);
}
static inline void store(float* p, Vec x) {
  *reinterpret_cast<Vec*>(p) = x;
}
static inline Vec as_float(Bits x) {
  return reinterpret_cast<Vec>(x);
}
static inline Vec as_float(Int x) {
  return reinterpret_cast<Vec>(x);
}
static inline Bits as_bits(Vec x) {
  return reinterpret_cast<Bits>(x);
}
// A NaN in `b` is passed over, as the kernels' max does.
static inline Vec larger(Vec a, Vec b) {
  return b > a ? b : a;
}

// 2^x for x <= 0. Round to the nearest integer n with the magic constant, 2^(x-n) by a polynomial
// (S. Moshier's exp2f coefficients, relative error 2^-22.5 with its roundings), 2^n by its
// exponent. Exactly 1 at 0; 0 below -126, where the probability could not be held as a normal
// number.
static inline Vec exp2_of(Vec x) {
  const Vec clamped = x < -126.0F ? splat(-126.0F) : x;
  const Vec magic = splat(12582912.0F);  // 1.5 * 2^23
  const Vec shifted = clamped + magic;
  const Vec f = clamped - (shifted - magic);
  Vec p = splat(1.535336188319500e-4F);
  p = p * f + 1.339887440266574e-3F;
  p = p * f + 9.618437357674640e-3F;
  p = p * f + 5.550332471162809e-2F;
  p = p * f + 2.402264791363012e-1F;
  p = p * f + 6.931472028550421e-1F;
  p = p * f + 1.0F;
  const Bits exponent = as_bits(shifted) << 23;
  const Vec result = as_float(as_bits(p) + exponent);
  return x != x ? x : (x < -126.0F ? Vec{} : result);
}

// Nearest even, on the bits; NaN stays.
static inline Vec round_bf16(Vec x) {
  const Bits b = as_bits(x);
  const Vec rounded = as_float((b + 0x7FFFU + ((b >> 16) & 1U)) & 0xFFFF0000U);
  return x != x ? x : rounded;
}

// Nearest even to 3 bits behind the point, for 0 <= x <= 1: adding 2^20 times the binade of x drops
// the other bits. Binades below the smallest normal number share its spacing.
static inline Vec round_e4m3(Vec x, std::uint32_t smallest_normal) {
  const Bits binade = as_bits(x) & 0x7F800000U;
  const Bits least = Bits{} + smallest_normal;
  const Vec magic = as_float((binade > least ? binade : least) + (20U << 23));
  return (x + magic) - magic;
}
constexpr std::uint32_t kSmallestFn = (127U - 6U) << 23;    // 2^-6
constexpr std::uint32_t kSmallestFnuz = (127U - 7U) << 23;  // 2^-7

static inline Vec round_to(ElementKind kind, Vec x) {
  switch (kind) {
    case ElementKind::bf16:
      return round_bf16(x);
    case ElementKind::e4m3fn:
      return round_e4m3(x, kSmallestFn);
    case ElementKind::e4m3fnuz:
      break;
  }
  return round_e4m3(x, kSmallestFnuz);
}

static inline Vec decode_bf16(const std::byte* p) {
  const Half h = *reinterpret_cast<const Half*>(p);
  return as_float(__builtin_convertvector(h, Bits) << 16);
}

// kLanes bytes as integers. Compilers make a dozen instructions of the conversion where one exists.
static inline Int widen_bytes(const std::byte* p) {
#if MLA_PATH_BYTES == 32 && defined(__AVX2__)
  return reinterpret_cast<Int>(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#elif MLA_PATH_BYTES == 64 && defined(__AVX512F__)
  // The unmasked form has GCC 12 warn of an uninitialised value in its own header.
  return reinterpret_cast<Int>(
      _mm512_maskz_cvtepu8_epi32(0xFFFF, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#else
  const Half wide = __builtin_convertvector(*reinterpret_cast<const Byte*>(p), Half);
  return __builtin_convertvector(wide, Int);
#endif
}

// Exponent and mantissa move to their place in f32; the difference of the biases is added to the
// exponent. Subnormal codes are rebuilt without f32 subnormals: (1 + m/8) * 2^e - 2^e.
template <ElementKind kKind>
static inline Vec decode_e4m3(const std::byte* p) {
  constexpr bool fn = kKind == ElementKind::e4m3fn;
  constexpr std::int32_t rebias = (fn ? 120 : 119) << 23;
  constexpr std::int32_t step = 1 << 23;  // one binade
  const Int code = widen_bytes(p);
  const Int magnitude = (code << 20) & 0x07F00000;
  const Int lifted = magnitude + (rebias + step);
  const Vec subnormal = as_float(lifted) - as_float(Int{} + (rebias + step));
  const Vec value = magnitude < step ? subnormal : as_float(lifted - step);
  const Int sign = (code << 24) & INT32_MIN;
  const Int nan = fn ? magnitude == 0x07F00000 : code == 0x80;  // all bits set: a NaN as well
  return as_float(reinterpret_cast<Int>(value) | sign | nan);
}

template <int kHalf, int... kLane>
static inline void swap_halves(Vec& a, Vec& b, std::integer_sequence<int, kLane...>) {
  constexpr int n = static_cast<int>(kLanes);
  const Vec low = __builtin_shufflevector(a, b, ((kLane & kHalf) ? n + kLane - kHalf : kLane)...);
  b = __builtin_shufflevector(a, b, ((kLane & kHalf) ? n + kLane : kLane + kHalf)...);
  a = low;
}

// Transposes a square of vectors: blocks off the diagonal change places, from large to small.
template <int kHalf = static_cast<int>(kLanes) / 2>
static inline void transpose(Vec (&x)[kLanes]) {
  for (int i = 0; i < kLanes; ++i)
    if ((i & kHalf) == 0)
      swap_halves<kHalf>(x[i], x[i + kHalf],
                         std::make_integer_sequence<int, static_cast<int>(kLanes)>{});
  if constexpr (kHalf > 1) transpose<kHalf / 2>(x);
}

template <ElementKind kKind>
static inline Vec decode_vec(const std::byte* row, std::int64_t d) {
  if constexpr (kKind == ElementKind::bf16)
    return decode_bf16(row + 2 * d);
  else
    return decode_e4m3<kKind>(row + d);
}

// Calls f with the kind as a template argument, so that loops inside f need no branch.
template <class F>
static inline void with_kind(ElementKind kind, F f) {
  switch (kind) {
    case ElementKind::bf16:
      return f.template operator()<ElementKind::bf16>();
    case ElementKind::e4m3fn:
      return f.template operator()<ElementKind::e4m3fn>();
    case ElementKind::e4m3fnuz:
      return f.template operator()<ElementKind::e4m3fnuz>();
  }
}

template <ElementKind kKind>
static inline void decode_row(const std::byte* bits, float* values, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += kLanes)
    *reinterpret_cast<Loose*>(values + i) = decode_vec<kKind>(bits, i);
}

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

constexpr int kKeyGroup = 6;
constexpr std::int64_t kDimBlock = 288;

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
    for (; k + kKeyGroup <= n; k += kKeyGroup) {
      score_keys<kVecs, kKeyGroup>(s.keys + k * kKeyPitch, strip.q, d, d + kDimBlock,
                                   scores + k * pitch);
    }
    score_rest<kVecs, kKeyGroup - 1>(n - k, s.keys + k * kKeyPitch, strip.q, d, scores + k * pitch);
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

constexpr int kDimGroup = 6;
static_assert(kValue % kDimGroup == 2);

template <int kVecs, bool kMasked>
static void weigh_tile(const Scratch& s, const Strip& strip, const float* p, std::int64_t n,
                       const Vec (&keep)[kVecs], bool fresh) {
  constexpr std::int64_t pitch = kVecs * kLanes;
  std::int64_t d = 0;
  for (; d + kDimGroup <= kValue; d += kDimGroup)
    weigh_dims<kVecs, kDimGroup, kMasked>(s.keys + d, p, n, strip.out + d * pitch, keep, fresh);
  weigh_dims<kVecs, 2, kMasked>(s.keys + d, p, n, strip.out + d * pitch, keep, fresh);
}

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
  attend_strips<2>(job, *reinterpret_cast<Scratch*>(scratch));
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

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
#ifdef MLA_PATH_BF16
#include "cpu_backend/data_path/bf16_products-inl.hpp"
#endif
#include "cpu_backend/data_path/f32_products-inl.hpp"

namespace mla::cpu {
namespace MLA_PATH_NAMESPACE {

template <int kVecs>
static void open_strip(const AttendJob& job, std::int64_t first, State& s) {
  for (std::int64_t r = first; r < first + kVecs * kLanes; ++r) {
    s.maximum[r] = -kInfinity;
    s.sum[r] = 0;
    s.visible[r] = r < job.row_count ? static_cast<std::int32_t>(job.rows[r].visible) : 0;
  }
}

template <int kVecs>
static void store_strip(const AttendJob& job, std::int64_t first, const State& s) {
  constexpr std::int64_t pitch = kVecs * kLanes;
  for (std::int64_t lane = 0; lane < pitch; lane += kLanes) {
    const Vec sum = load(s.sum + first + lane);
    const Vec factor = job.out_scale / sum;
    for (std::int64_t d = 0; d < s.value_dims; d += kLanes) {
      const std::int64_t n = s.value_dims - d < kLanes ? s.value_dims - d : kLanes;
      Vec x[kLanes];
      for (std::int64_t i = 0; i < kLanes; ++i)
        x[i] = sum == 0.0F || i >= n
                   ? Vec{}
                   : load(s.out + first * kValue + (d + i) * pitch + lane) * factor;
      transpose(x);
      for (std::int64_t r = 0; r < kLanes && first + lane + r < job.row_count; ++r) {
        float* out = job.rows[first + lane + r].out + d;
        if (n == kLanes)
          *reinterpret_cast<Loose*>(out) = x[r];
        else
          __builtin_memcpy(out, &x[r], static_cast<std::size_t>(n) * sizeof(float));
      }
    }
  }
  for (std::int64_t r = first; r < first + pitch && r < job.row_count; ++r)
    *job.rows[r].lse = s.sum[r] == 0
                           ? -kInfinity
                           : s.maximum[r] * 0.693147180559945309F + __builtin_logf(s.sum[r]);
}

// False: these products cannot take an operand of the job, and no result was written.
template <class Products, int kVecs>
static bool attend_strips(const AttendJob& job, typename Products::Scratch& s) {
  constexpr std::int64_t pitch = kVecs * kLanes;
  s.key_dims = (job.key_dims + 1) / 2 * 2;
  s.value_dims = job.value_dims;
  for (std::int64_t first = 0; first < job.row_count; first += pitch) {
    open_strip<kVecs>(job, first, s);
    if (!Products::template load_q<kVecs>(job, first, s)) return false;
  }
  const std::int64_t strips = (job.row_count + pitch - 1) / pitch;
  std::int64_t fewest = job.key_count;
  std::int64_t most = 0;
  for (std::int64_t r = 0; r < job.row_count; ++r) {
    if (job.rows[r].visible < fewest) fewest = job.rows[r].visible;
    if (job.rows[r].visible > most) most = job.rows[r].visible;
  }
  for (std::int64_t base = 0; base < most; base += kTileKeys) {
    const std::int64_t n = most - base < kTileKeys ? most - base : kTileKeys;
    const std::int64_t full = fewest - base;
    const Tile tile{base, n, full < 0 ? 0 : full < n ? full : n};
    if (!Products::load_keys(job, tile, s)) return false;
    NextKeys next(job, base + n, most, strips * steps_of<Products, kVecs>(tile, s));
    for (std::int64_t first = 0; first < job.row_count; first += pitch) {
      Vec keep[kVecs];
      score_tile<Products, kVecs>(s, first, n, next);
      softmax_tile<kVecs>(job, first, tile, s, keep);
      weigh_tile<Products, kVecs>(s, first, tile, keep, next);
    }
  }
  for (std::int64_t first = 0; first < job.row_count; first += pitch)
    store_strip<kVecs>(job, first, s);
  return true;
}

template <class Products>
static bool attend_with(const AttendJob& job, std::byte* scratch) {
  auto& s = *reinterpret_cast<typename Products::Scratch*>(scratch);
  return job.row_count <= kLanes ? attend_strips<Products, 1>(job, s)
                                 : attend_strips<Products, 2>(job, s);
}

static std::size_t scratch_bytes() {
#ifdef MLA_PATH_BF16
  if (sizeof(Bf16Products::Scratch) > sizeof(F32Products::Scratch))
    return sizeof(Bf16Products::Scratch);
#endif
  return sizeof(F32Products::Scratch);
}

static void attend(const AttendJob& job, std::byte* scratch) {
#ifdef MLA_PATH_BF16
  if (attend_with<Bf16Products>(job, scratch)) return;
#endif
  attend_with<F32Products>(job, scratch);
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

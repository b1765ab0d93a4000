// reduce: merges partial rows into output rows, one wave for one head of a row at a time.
//
// The k-th partial is a normalised output o_k with its natural-log LSE l_k; the result is
// sum_k e^(l_k - g) o_k with g = ln sum_k e^(l_k). Two or three partials (and all of the split
// route) are merged in one pass with a running maximum; for four and more the weights come first.
// A partial with LSE -inf has weight 0; if all have, the output is 0 and the LSE -inf. A NaN LSE
// gives NaN.
#include "hip_backend/kernels/arguments.hpp"
#include "hip_backend/kernels/gpu.hpp"
#include "hip_backend/kernels/numbers.hpp"
#include "hip_backend/kernels/piece.hpp"

namespace mla::hip {

constexpr int kReduceThreads = 256;
constexpr int kOwn = 512 / kLanes;  // columns of a lane: kOwn / 4 runs of 4

// Weight of a partial relative to `centre`; 0 for one without keys even if the centre is -inf too.
MLA_DEVICE float weight_of(float lse, float centre) {
  return lse == -kInfinity ? 0.0F : exp2_of((lse - centre) * kLog2E);
}
MLA_DEVICE float ln(float x) {
  return log2_of(x) * kLn2;
}

// The partials of one head of one row: the k-th is at rows(k) * heads + head.
template <class Rows>
struct Partials {
  const ReduceArguments& a;
  Rows rows;
  int count;
  int head;

  MLA_DEVICE_MEMBER i64 index(int k) const { return static_cast<i64>(rows(k)) * a.heads + head; }
  MLA_DEVICE_MEMBER float lse(int k) const { return a.partial_lse[index(k)]; }
  // sum[] = sum[] * keep + o_k[] * add, for the columns of this lane
  MLA_DEVICE_MEMBER void blend(int k, float keep, float add, float (&sum)[kOwn]) const {
    const float* from = a.partial_out + index(k) * a.dims + 4 * lane_id();
    MLA_UNROLL
    for (int run = 0; run < kOwn / 4; ++run) {
      if (run * 4 * kLanes + 4 * lane_id() >= a.dims) continue;
      const auto o = *reinterpret_cast<const Bytes16*>(from + run * 4 * kLanes);
      MLA_UNROLL
      for (int i = 0; i < 4; ++i)
        sum[4 * run + i] = sum[4 * run + i] * keep + bits_as<float>(o.w[i]) * add;
    }
  }
};

template <class P>
MLA_DEVICE float merge_running(const P& p, float (&sum)[kOwn]) {
  float maximum = p.lse(0);
  float total = maximum == -kInfinity ? 0.0F : 1.0F;
  p.blend(0, 0.0F, 1.0F, sum);
  MLA_UNROLL_BY(4)
  for (int k = 1; k < p.count; ++k) {
    const float lse = p.lse(k);
    const float next = __builtin_fmaxf(maximum, lse);
    const float keep = weight_of(maximum, next);
    const float add = weight_of(lse, next);
    p.blend(k, keep, add, sum);
    total = total * keep + add;
    maximum = next;
  }
  const float factor = 1.0F / total;
  MLA_UNROLL
  for (int i = 0; i < kOwn; ++i) sum[i] *= factor;
  return ln(total) + maximum;
}

template <class P>
MLA_DEVICE float merge_weighted(const P& p, float (&sum)[kOwn]) {
  // Unrolled, so that several loads are under way at a time.
  float maximum = -kInfinity;
  MLA_UNROLL_BY(4)
  for (int k = 0; k < p.count; ++k) maximum = __builtin_fmaxf(maximum, p.lse(k));
  float total = 0;
  MLA_UNROLL_BY(4)
  for (int k = 0; k < p.count; ++k) total += weight_of(p.lse(k), maximum);
  const float lse = ln(total) + maximum;
  MLA_UNROLL_BY(4)
  for (int k = 0; k < p.count; ++k) p.blend(k, 1.0F, weight_of(p.lse(k), lse), sum);
  return lse;
}

template <class P>
MLA_DEVICE bool no_key_at_all(const P& p) {
  for (int k = 0; k < p.count; ++k)
    if (p.lse(k) != -kInfinity) return false;
  return true;
}

template <class P>
MLA_DEVICE void merge_head(const P& p, int row) {
  float sum[kOwn] = {};
  float lse = -kInfinity;
  if (!no_key_at_all(p))
    lse = p.a.splits == 0 && p.count >= 4 ? merge_weighted(p, sum) : merge_running(p, sum);
  const i64 to = static_cast<i64>(row) * p.a.heads + p.head;
  if (lane_id() == 0) p.a.lse[to] = lse;
  u16* out = p.a.out + to * p.a.dims + 4 * lane_id();
  MLA_UNROLL
  for (int run = 0; run < kOwn / 4; ++run) {
    if (run * 4 * kLanes + 4 * lane_id() >= p.a.dims) continue;
    Bytes8 bits;
    MLA_UNROLL
    for (int i = 0; i < 2; ++i)
      bits.w[i] = bf16_of(sum[4 * run + 2 * i], p.a.rounding) |
                  static_cast<u32>(bf16_of(sum[4 * run + 2 * i + 1], p.a.rounding)) << 16U;
    *reinterpret_cast<Bytes8*>(out + run * 4 * kLanes) = bits;
  }
}

// Rows [begin, end) of a tile, shared among the waves of the workgroups along y.
template <class RowsOf>
MLA_DEVICE void merge_rows(const ReduceArguments& a, int begin, int end, int count,
                           RowsOf rows_of) {
  constexpr int kWaves = kReduceThreads / kLanes;
  const int heads = (end - begin) * a.heads;
  for (int i = group_y() * kWaves + wave_id(); i < heads; i += a.row_groups * kWaves) {
    const int row = begin + i / a.heads;
    const auto rows = rows_of(row);
    merge_head(Partials<decltype(rows)>{a, rows, count, i % a.heads}, row);
  }
}

struct MappedRows {
  const int* map;  // first partial row of each piece
  int offset;      // of the row in its tile
  MLA_DEVICE_MEMBER int operator()(int k) const { return map[k] + offset; }
};
struct SplitRows {
  int first;
  MLA_DEVICE_MEMBER int operator()(int k) const { return first + k; }
};

MLA_DEVICE void reduce_tile(const ReduceArguments& a, int tile) {
  const int begin = a.reduce_indptr[tile];
  const int count = a.reduce_indptr[tile + 1] - begin;
  if (count < 2) return;
  const int q_begin = a.reduce_final_map[2 * tile];
  const int q_end = a.reduce_final_map[2 * tile + 1];
  const int* map = a.reduce_partial_map + begin;
  merge_rows(a, q_begin, q_end, count, [&](int row) { return MappedRows{map, row - q_begin}; });
}

MLA_DEVICE void reduce_request(const ReduceArguments& a, int request) {
  const int keys = request_keys(a.kv_indptr, a.last_page_len, a.page_shift, request);
  const int count = min_of(a.splits, ceil_div(keys, a.granularity));
  if (count < 1) return;
  merge_rows(a, a.qo_indptr[request], a.qo_indptr[request + 1], count,
             [&](int row) { return SplitRows{row * a.splits}; });
}

}  // namespace mla::hip

MLA_KERNEL(256) reduce(const mla::hip::ReduceArguments a) {
  using namespace mla::hip;
  if (a.skip[group_x()] != 0) return;
  if (a.splits == 0) {
    reduce_tile(a, group_x());
  } else {
    reduce_request(a, group_x());
  }
}

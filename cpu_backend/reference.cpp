#include "cpu_backend/reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "cpu_backend/dense/error_model.hpp"
#include "cpu_backend/dense/matrix_product.hpp"
#include "cpu_backend/dense/row_weights.hpp"

namespace mla::cpu {
namespace {

constexpr std::int64_t kChunk = 16;  // packed (row, head) pairs computed together
// (pair, key) products of a request from which on a team of threads is worth its barrier: about
// 300 ms. Smaller cases come by the thousand, and their judges run in parallel already.
constexpr std::int64_t kTeamWork = 1 << 20;

void decode(const std::byte* bytes, Dtype dtype, Fp8Variant variant, double* values) {
  for (std::int64_t d = 0; d < kKeyDim; ++d) {
    if (dtype == Dtype::fp8) {
      values[d] = fp8_values(variant)[static_cast<std::size_t>(bytes[d])];
    } else {
      const auto low = static_cast<unsigned>(bytes[2 * d]);
      const auto high = static_cast<unsigned>(bytes[2 * d + 1]);
      values[d] = bf16_to_float(static_cast<std::uint16_t>(high << 8U | low));
    }
  }
}

// The keys of one request, as right operands of both products.
struct RequestKeys {
  std::int64_t count;
  Panels keys;                         // [576, count]
  Panels values;                       // [count, 512]
  xt::xtensor<double, 1> largest_abs;  // [512], over the keys

  RequestKeys(const ReferenceInput& in, std::int64_t request, std::int64_t count)
      : count(count),
        keys(kKeyDim, count),
        values(count, kValueDim),
        largest_abs(xt::zeros<double>({kValueDim})) {
    const KvCache& cache = in.tensors.cache;
    std::vector<double> row(kKeyDim);
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t slot = in.batch.slot(request, j) - cache.first_slot;
      decode(cache.bytes.data() + slot * cache.row_bytes(), in.dtype.kv, fp8_variant(in.arch),
             row.data());
      for (std::int64_t d = 0; d < kKeyDim; ++d) keys.at(d, j) = row[static_cast<std::size_t>(d)];
      for (std::int64_t d = 0; d < kValueDim; ++d) {
        const double v = row[static_cast<std::size_t>(d)];
        values.at(j, d) = v;
        largest_abs(d) = std::max(largest_abs(d), std::fabs(v));
      }
    }
  }
};

// Packed rows [first, first + count) of a request: row first + i is head (first + i) % heads of its
// query row (first + i) / heads.
struct Chunk {
  std::int64_t first_row = 0;  // of the request: query row in the batch
  std::int64_t qo_len = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

class Evaluation {
 public:
  Evaluation(const ReferenceInput& in, ReferenceResult& out) : in_(in), out_(out) {
    model_.dtype = in.dtype;
    model_.fp8 = fp8_variant(in.arch);
    model_.out_scale = std::fabs(static_cast<double>(in.tensors.kv_scale));
    model_.output_unit =
        std::max(unit_roundoff(stage1_rounding(in.arch)), unit_roundoff(reduce_rounding(in.arch)));
    scale_ =
        static_cast<double>(in.tensors.softmax_scale) * in.tensors.q_scale * in.tensors.kv_scale;
  }

  void run(const RequestKeys& request, const Chunk& chunk) const {
    const xt::xtensor<double, 2> q = load_q(chunk);
    const xt::xtensor<double, 2> scores = product(q, request.keys, Entries::as_they_are) * scale_;
    const xt::xtensor<double, 2> abs_scores =
        product(xt::abs(q), request.keys, Entries::absolute) * std::fabs(scale_);
    xt::xtensor<double, 2> w = xt::zeros<double>({kChunk, request.count});
    xt::xtensor<double, 2> w_error = xt::zeros<double>({kChunk, request.count});
    std::array<RowState, kChunk> rows;
    for (std::int64_t r = 0; r < chunk.count; ++r)
      rows[static_cast<std::size_t>(r)] =
          softmax(request, chunk, r, scores, abs_scores, w, w_error);
    const xt::xtensor<double, 2> n = product(w, request.values, Entries::as_they_are);
    const xt::xtensor<double, 2> n_error = product(w_error, request.values, Entries::absolute);
    for (std::int64_t r = 0; r < chunk.count; ++r)
      store(request, chunk, r, rows[static_cast<std::size_t>(r)], n, n_error);
  }

 private:
  struct RowState {
    ErrorModel model;
    double sum = 0;          // W, 0 for a row without keys
    double denominator = 0;  // its relative error
  };

  [[nodiscard]] std::int64_t packed_row(const Chunk& chunk, std::int64_t r) const {
    return chunk.first_row * in_.model_heads + chunk.first + r;
  }

  [[nodiscard]] xt::xtensor<double, 2> load_q(const Chunk& chunk) const {
    xt::xtensor<double, 2> q = xt::zeros<double>({kChunk, kKeyDim});
    const std::int64_t bytes = kKeyDim * element_bytes(in_.dtype.q);
    for (std::int64_t r = 0; r < chunk.count; ++r)
      decode(in_.tensors.q.data() + packed_row(chunk, r) * bytes, in_.dtype.q,
             fp8_variant(in_.arch), &q(r, 0));
    return q;
  }

  static xt::xtensor<double, 2> product(const xt::xtensor<double, 2>& left, const Panels& right,
                                        Entries entries) {
    xt::xtensor<double, 2> out = xt::empty<double>({kChunk, right.padded_columns()});
    multiply(left.data(), kChunk / kRowGroup, right, entries, out.data());
    return out;
  }

  // Row i of q sees keys 0 .. n - q + i when causal: the query rows are right-aligned with the
  // keys.
  [[nodiscard]] std::int64_t visible(const RequestKeys& request, const Chunk& chunk,
                                     std::int64_t r) const {
    if (!in_.causal) return request.count;
    const std::int64_t row = (chunk.first + r) / in_.model_heads;
    return std::max<std::int64_t>(0, request.count - chunk.qo_len + row + 1);
  }

  // Weights e^(s - m) of one row, their errors, and its LSE.
  RowState softmax(const RequestKeys& request, const Chunk& chunk, std::int64_t r,
                   const xt::xtensor<double, 2>& scores, const xt::xtensor<double, 2>& abs_scores,
                   xt::xtensor<double, 2>& w, xt::xtensor<double, 2>& w_error) const {
    RowState state{model_};
    state.model.keys = visible(request, chunk, r);
    const auto to = static_cast<std::size_t>(packed_row(chunk, r));
    if (state.model.keys == 0) {
      out_.lse[to] = -std::numeric_limits<double>::infinity();
      return state;
    }
    const RowWeights row =
        weigh_row(state.model, &scores(r, 0), &abs_scores(r, 0), &w(r, 0), &w_error(r, 0));
    state.sum = row.sum;
    state.denominator = row.denominator;
    out_.lse[to] = row.lse;
    out_.lse_bound[to] = row.lse_bound;
    return state;
  }

  void store(const RequestKeys& request, const Chunk& chunk, std::int64_t r, const RowState& state,
             const xt::xtensor<double, 2>& n, const xt::xtensor<double, 2>& n_error) const {
    if (state.sum == 0) return;
    const std::int64_t to = packed_row(chunk, r) * kValueDim;
    for (std::int64_t d = 0; d < kValueDim; ++d) {
      const double value = n(r, d) / state.sum;
      out_.out[static_cast<std::size_t>(to + d)] = value * in_.tensors.kv_scale;
      out_.out_bound[static_cast<std::size_t>(to + d)] =
          state.model.output_bound({.value = value,
                                    .numerator = n_error(r, d) / state.sum,
                                    .largest_v = request.largest_abs(d)},
                                   state.denominator);
    }
  }

  const ReferenceInput& in_;
  ReferenceResult& out_;
  ErrorModel model_;
  double scale_ = 0;
};

}  // namespace

ReferenceResult dense_reference(const ReferenceInput& in) {
  const auto packed = static_cast<std::size_t>(in.batch.rows().count() * in.model_heads);
  ReferenceResult out;
  out.out.assign(packed * kValueDim, 0);
  out.out_bound.assign(packed * kValueDim, 0);
  out.lse.assign(packed, -std::numeric_limits<double>::infinity());
  out.lse_bound.assign(packed, 0);
  const Evaluation evaluation(in, out);
  std::int64_t first_row = 0;
  for (std::size_t b = 0; b < in.batch.requests.size(); ++b) {
    const RequestSpec spec = in.batch.requests[b];
    const std::int64_t pairs = spec.qo_len * in.model_heads;
    if (pairs > 0 && spec.kv_len > 0) {
      const RequestKeys request(in, static_cast<std::int64_t>(b), spec.kv_len);
#pragma omp parallel for schedule(dynamic, 1) if (pairs * spec.kv_len >= kTeamWork)
      for (std::int64_t first = 0; first < pairs; first += kChunk)
        evaluation.run(request, {.first_row = first_row,
                                 .qo_len = spec.qo_len,
                                 .first = first,
                                 .count = std::min(kChunk, pairs - first)});
    }
    first_row += spec.qo_len;
  }
  return out;
}

}  // namespace mla::cpu

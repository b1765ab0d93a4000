#include "cpu_backend/decode/reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "cpu_backend/dense/attend_rows.hpp"
#include "cpu_backend/threads.hpp"

namespace mla::cpu {
namespace {

constexpr std::int64_t kBlock = 1024;  // keys converted together
// (pair, key) products of a request from which on a team of threads is worth its barrier: about
// 300 ms. Smaller cases come by the thousand, and their judges run in parallel already.
constexpr std::int64_t kTeamWork = 1 << 20;

std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

void decode(const std::byte* bytes, Dtype dtype, Fp8Variant variant, std::int64_t dims,
            double* values) {
  if (dtype == Dtype::fp8) {
    const auto& table = fp8_values(variant);
    for (std::int64_t d = 0; d < dims; ++d) values[d] = table[static_cast<std::size_t>(bytes[d])];
    return;
  }
  for (std::int64_t d = 0; d < dims; ++d) {
    const auto low = static_cast<unsigned>(bytes[2 * d]);
    const auto high = static_cast<unsigned>(bytes[2 * d + 1]);
    values[d] = bf16_to_float(static_cast<std::uint16_t>(high << 8U | low));
  }
}

// A request, and those of its pairs that are evaluated.
struct Place {
  std::int64_t request = 0;
  std::int64_t first_row = 0;  // of the batch
  std::int64_t qo_len = 0;
  std::int64_t kv_len = 0;
  std::span<const std::int64_t> pairs;
};

// Keys [first, first + count) of one request, as right operands of both products.
struct KeyBlock {
  std::int64_t first;
  std::int64_t count;
  RowWidths widths;
  Panels keys;    // [key, count]
  Panels values;  // [count, value]

  KeyBlock(const ReferenceInput& in, const Place& place, std::int64_t first,
           std::vector<double>& largest_abs)
      : first(first),
        count(std::min(kBlock, place.kv_len - first)),
        widths(in.tensors.cache.widths),
        keys(widths.key().count(), count),
        values(count, widths.value().count()) {
    for (std::int64_t j = 0; j < count; j += kPanelColumns)
      load_panel(in, place, j, std::min(kPanelColumns, count - j), largest_abs);
  }

 private:
  // `n` keys from the block's key j on, which are the columns of one panel.
  void load_panel(const ReferenceInput& in, const Place& place, std::int64_t j, std::int64_t n,
                  std::vector<double>& largest_abs) {
    const KvCache& cache = in.tensors.cache;
    const std::int64_t key_dims = widths.key().count();
    const std::int64_t value_dims = widths.value().count();
    std::array<std::array<double, kMostKeyDims>, kPanelColumns> rows;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t slot =
          in.first_slot + in.batch.slot(place.request, first + j + i) - cache.first_slot;
      double* row = rows[size(i)].data();
      decode(cache.bytes.data() + slot * cache.row_bytes(), in.dtype.kv, fp8_variant(in.arch),
             key_dims, row);
      for (std::int64_t d = 0; d < value_dims; ++d)
        largest_abs[size(d)] = std::max(largest_abs[size(d)], std::fabs(row[d]));
      for (std::int64_t d = 0; d < value_dims; d += kPanelColumns)
        std::copy_n(row + d, std::min(kPanelColumns, value_dims - d),
                    values.panel(d / kPanelColumns) + (j + i) * kPanelColumns);
    }
    double* columns = keys.panel(j / kPanelColumns);
    for (std::int64_t d = 0; d < key_dims; ++d)
      for (std::int64_t i = 0; i < n; ++i) columns[d * kPanelColumns + i] = rows[size(i)][size(d)];
  }
};

// One request: the scores of all keys are looked at before the first weight is made, and are
// computed once more for it where the keys do not fit in one block.
class Evaluation {
 public:
  Evaluation(const ReferenceInput& in, const Place& place, ReferenceResult& out)
      : in_(in),
        place_(place),
        out_(out),
        q_(in.q.empty() ? in.tensors.q.data() : in.q.data()),
        widths_(in.tensors.cache.widths),
        largest_abs_(size(widths_.value().count()), 0) {
    ErrorModel model;
    model.dot_length = widths_.key().count();
    model.dtype = in.dtype;
    model.fp8 = fp8_variant(in.arch);
    model.out_scale = std::fabs(static_cast<double>(in.tensors.kv_scale));
    model.output_unit =
        std::max(unit_roundoff(stage1_rounding(in.arch)), unit_roundoff(reduce_rounding(in.arch)));
    scale_ =
        static_cast<double>(in.tensors.softmax_scale) * in.tensors.q_scale * in.tensors.kv_scale;
    model.score_scale = std::fabs(scale_);
    for (const std::int64_t pair : place.pairs) {
      rows_.push_back({model, {}});
      rows_.back().model.keys = visible(pair);
    }
  }

  void run() {
    if (place_.kv_len <= kBlock) {
      const KeyBlock block(in_, place_, 0, largest_abs_);
      for_chunks([&](std::int64_t first, std::int64_t count) {
        const Matrix q = load_q(first, count);
        const Matrix s = exact_scores(q, block.keys, scale_);
        scan(block, first, count, s);
        weigh(block, first, count, q, s);
      });
    } else {
      for_blocks([&](const KeyBlock& block, std::int64_t first, std::int64_t count) {
        scan(block, first, count, exact_scores(load_q(first, count), block.keys, scale_));
      });
      for_blocks([&](const KeyBlock& block, std::int64_t first, std::int64_t count) {
        const Matrix q = load_q(first, count);
        weigh(block, first, count, q, exact_scores(q, block.keys, scale_));
      });
    }
    for (std::int64_t i = 0; i < std::ssize(rows_); ++i) finish(i);
  }

 private:
  struct Row {
    ErrorModel model;
    RowSoftmax softmax;
  };

  Row& row(std::int64_t i) { return rows_[size(i)]; }

  template <class F>
  void for_chunks(F run) {
    const std::int64_t pairs = std::ssize(place_.pairs);
    [[maybe_unused]] const int threads = pairs * place_.kv_len >= kTeamWork ? team(0) : 1;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (std::int64_t first = 0; first < pairs; first += kRowChunk)
      run(first, std::min(kRowChunk, pairs - first));
  }

  template <class F>
  void for_blocks(F run) {
    for (std::int64_t key = 0; key < place_.kv_len; key += kBlock) {
      const KeyBlock block(in_, place_, key, largest_abs_);
      for_chunks([&](std::int64_t first, std::int64_t count) { run(block, first, count); });
    }
  }

  // Row i of q sees keys 0 .. n - q + i when causal: the query rows are right-aligned with the
  // keys.
  [[nodiscard]] std::int64_t visible(std::int64_t pair) const {
    if (!in_.causal) return place_.kv_len;
    const std::int64_t row = pair / in_.model_heads - place_.first_row;
    return place_.kv_len - place_.qo_len + row + 1;
  }
  // Of the keys of a block.
  std::int64_t visible_in(const KeyBlock& block, std::int64_t i) {
    return std::clamp<std::int64_t>(row(i).model.keys - block.first, 0, block.count);
  }

  // [count, key], padded.
  [[nodiscard]] Matrix load_q(std::int64_t first, std::int64_t count) const {
    Matrix q = padded_rows(count, widths_.key().count());
    const std::int64_t bytes = widths_.key_bytes(in_.dtype.q);
    for (std::int64_t r = 0; r < count; ++r)
      decode(q_ + place_.pairs[size(first + r)] * bytes, in_.dtype.q, fp8_variant(in_.arch),
             widths_.key().count(), &q(r, 0));
    return q;
  }

  void scan(const KeyBlock& block, std::int64_t first, std::int64_t count, const Matrix& s) {
    for (std::int64_t r = 0; r < count; ++r)
      row(first + r).softmax.scan(&s(r, 0), visible_in(block, first + r));
  }

  // Weights e^(s - m) and their errors, times the values, onto the sums that the result holds.
  void weigh(const KeyBlock& block, std::int64_t first, std::int64_t count, const Matrix& q,
             const Matrix& s) {
    const Matrix abs_scores = absolute_scores(q, block.keys, scale_);
    Matrix w = padded_rows(count, block.count);
    Matrix w_error = xt::zeros_like(w);
    for (std::int64_t r = 0; r < count; ++r)
      row(first + r).softmax.weigh(row(first + r).model, &s(r, 0), &abs_scores(r, 0),
                                   visible_in(block, first + r), &w(r, 0), &w_error(r, 0));
    const ValueSums sums = value_sums(w, w_error, block.values);
    const std::size_t dims = largest_abs_.size();
    for (std::int64_t r = 0; r < count; ++r) {
      const std::size_t to = size(place_.pairs[size(first + r)]) * dims;
      for (std::size_t d = 0; d < dims; ++d) {
        out_.out[to + d] += sums.value(r, d);
        out_.out_bound[to + d] += sums.error(r, d);
      }
    }
  }

  void finish(std::int64_t i) {
    const RowWeights weights = row(i).softmax.finish(row(i).model);
    const std::int64_t pair = place_.pairs[size(i)];
    out_.lse[size(pair)] = weights.lse;
    out_.lse_bound[size(pair)] = weights.lse_bound;
    const std::size_t dims = largest_abs_.size();
    for (std::size_t d = 0; d < dims; ++d) {
      double& out = out_.out[size(pair) * dims + d];
      double& bound = out_.out_bound[size(pair) * dims + d];
      const BoundedValue e = output(row(i).model, weights, out, bound, largest_abs_[d]);
      out = e.value * in_.tensors.kv_scale;
      bound = e.bound;
    }
  }

  const ReferenceInput& in_;
  const Place& place_;
  ReferenceResult& out_;
  const std::byte* const q_;
  std::vector<Row> rows_;
  RowWidths widths_;
  std::vector<double> largest_abs_;  // [value], over the keys
  double scale_ = 0;
};

// The pairs of a request that are evaluated. The others are marked, if they see a key.
std::vector<std::int64_t> evaluated_pairs(const ReferenceInput& in, const Place& place,
                                          Pairs sample, ReferenceResult& out) {
  const std::int64_t dims = in.tensors.cache.widths.value().count();
  std::vector<std::int64_t> pairs;
  for (std::int64_t i = 0; i < place.qo_len; ++i) {
    const std::int64_t hidden = in.causal ? place.qo_len - 1 - i : 0;
    if (place.kv_len <= hidden) continue;
    for (std::int64_t h = 0; h < in.model_heads; ++h) {
      const std::int64_t pair = (place.first_row + i) * in.model_heads + h;
      if (has_pair(sample, pair)) {
        pairs.push_back(pair);
        continue;
      }
      std::fill_n(&out.out_bound[size(pair * dims)], dims, kNotEvaluated);
      out.lse[size(pair)] = 0;
      out.lse_bound[size(pair)] = kNotEvaluated;
    }
  }
  return pairs;
}

}  // namespace

ReferenceResult dense_reference(const ReferenceInput& in) {
  return sampled_reference(in, {});
}

ReferenceResult sampled_reference(const ReferenceInput& in, Pairs sample) {
  const std::size_t packed = size(in.batch.rows().count() * in.model_heads);
  const std::size_t elements = packed * size(in.tensors.cache.widths.value().count());
  ReferenceResult out;
  out.out.assign(elements, 0);
  out.out_bound.assign(elements, 0);
  out.lse.assign(packed, -std::numeric_limits<double>::infinity());
  out.lse_bound.assign(packed, 0);
  std::int64_t first_row = 0;
  for (std::size_t b = 0; b < in.batch.requests.size(); ++b) {
    const auto [q, n] = in.batch.requests[b];
    Place place{static_cast<std::int64_t>(b), first_row, q, n, {}};
    const std::vector<std::int64_t> pairs = evaluated_pairs(in, place, sample, out);
    place.pairs = pairs;
    if (!pairs.empty()) Evaluation(in, place, out).run();
    first_row += q;
  }
  return out;
}

}  // namespace mla::cpu

#include "cpu_backend/fa/reference.hpp"

#include <algorithm>

#include "core/numeric/bf16.hpp"
#include "cpu_backend/dense/error_model.hpp"
#include "cpu_backend/dense/matrix_product.hpp"
#include "cpu_backend/dense/row_weights.hpp"

namespace mla::cpu {
namespace {

constexpr std::int64_t kChunk = 16;  // packed (row, head) pairs computed together

std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

// Where one request lies in the tensors.
struct Place {
  std::int64_t request = 0;
  std::int64_t first_row = 0;
  std::int64_t qo_len = 0;
  std::int64_t kv_len = 0;
};

// Element 0 of key or value `position` of a request, KV head 0.
const std::uint16_t* token(const FaReferenceInput& in, const Place& p, std::int64_t position,
                           CachePlane plane) {
  const FaTensors& t = in.tensors;
  const std::int64_t row = in.layer.kv_heads.count() * in.layer.head_dim;
  const std::int64_t fresh = position - (p.kv_len - p.qo_len);
  if (fresh >= 0) {
    const auto& tensor = plane == CachePlane::keys ? t.k : t.v;
    return tensor.data() + (p.first_row + fresh) * row;
  }
  const std::int64_t slot =
      in.batch.slot(p.request, position) - t.first_block * in.layer.block_size;
  const std::int64_t values = plane == CachePlane::values ? t.blocks * in.layer.block_size : 0;
  return t.cache.data() + (values + slot) * row;
}

// Keys and values of one request and KV head, as right operands.
struct Keys {
  Panels keys;                      // [dim, count]
  Panels values;                    // [count, dim]
  std::vector<double> largest_abs;  // [dim]

  Keys(const FaReferenceInput& in, const Place& p, std::int64_t kv_head)
      : keys(in.layer.head_dim, p.kv_len),
        values(p.kv_len, in.layer.head_dim),
        largest_abs(size(in.layer.head_dim), 0) {
    const std::int64_t dim = in.layer.head_dim;
    for (std::int64_t j = 0; j < p.kv_len; ++j) {
      const std::uint16_t* key = token(in, p, j, CachePlane::keys) + kv_head * dim;
      const std::uint16_t* value = token(in, p, j, CachePlane::values) + kv_head * dim;
      for (std::int64_t d = 0; d < dim; ++d) {
        keys.at(d, j) = bf16_to_float(key[d]);
        const double v = bf16_to_float(value[d]);
        values.at(j, d) = v;
        largest_abs[size(d)] = std::max(largest_abs[size(d)], std::fabs(v));
      }
    }
  }
};

using Matrix = std::vector<double>;  // [kChunk, columns]

Matrix product(const Matrix& left, const Panels& right, Entries entries) {
  Matrix out(size(kChunk * right.padded_columns()));
  multiply(left.data(), kChunk / kRowGroup, right, entries, out.data());
  return out;
}

class Evaluation {
 public:
  Evaluation(const FaReferenceInput& in, FaReference& out) : in_(in), out_(out) {
    model_.output_unit = unit_roundoff(Bf16Rounding::nearest_even);
    model_.dot_length = in.layer.head_dim;
  }

  // The evaluated pairs of the heads of a KV head. The others are marked, if they see a key.
  [[nodiscard]] std::vector<std::int64_t> evaluated_pairs(const Place& p,
                                                          std::int64_t kv_head) const {
    std::vector<std::int64_t> pairs;
    const std::int64_t group = in_.layer.group();
    for (std::int64_t i = 0; i < p.qo_len; ++i) {
      const KeyRange range = visible(p, i);
      if (range.first >= range.last) continue;
      for (std::int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
        const std::int64_t pair = (p.first_row + i) * in_.layer.heads.count() + h;
        if (has_pair(in_.pairs, pair)) {
          pairs.push_back(pair);
        } else {
          const std::int64_t dim = in_.layer.head_dim;
          std::fill_n(&out_.out_bound[size(pair * dim)], dim, kNotEvaluated);
        }
      }
    }
    return pairs;
  }

  void run(const Place& p, const Keys& keys, Pairs pairs) const {
    Matrix q = load_q(pairs);
    const Matrix scores = scaled(product(q, keys.keys, Entries::as_they_are));
    for (double& x : q) x = std::fabs(x);
    const Matrix abs_scores = scaled(product(q, keys.keys, Entries::absolute));
    // A row of weights has one entry for every key; those that it does not see stay 0.
    Matrix w(size(kChunk * p.kv_len), 0);
    Matrix w_error(size(kChunk * p.kv_len), 0);
    std::vector<Row> rows(pairs.size(), Row{model_, {}});
    for (std::int64_t r = 0; r < std::ssize(pairs); ++r) {
      const KeyRange range = visible(p, pairs[size(r)] / in_.layer.heads.count() - p.first_row);
      ErrorModel& model = rows[size(r)].model;
      model.bf16_merges = in_.bf16_merges[size(p.request)];
      model.keys = range.last - range.first;
      if (model.keys <= 0) continue;
      const std::size_t from = size(r * keys.keys.padded_columns() + range.first);
      const std::size_t to = size(r * p.kv_len + range.first);
      rows[size(r)].weights =
          weigh_row(model, &scores[from], &abs_scores[from], &w[to], &w_error[to]);
    }
    const Matrix n = product(w, keys.values, Entries::as_they_are);
    const Matrix n_error = product(w_error, keys.values, Entries::absolute);
    const std::int64_t width = keys.values.padded_columns();
    for (std::int64_t r = 0; r < std::ssize(pairs); ++r)
      store(rows[size(r)], keys, &n[size(r * width)], &n_error[size(r * width)], pairs[size(r)]);
  }

 private:
  struct Row {
    ErrorModel model;
    RowWeights weights;  // sum 0 for a row without keys
  };

  [[nodiscard]] Matrix load_q(Pairs pairs) const {
    const std::int64_t dim = in_.layer.head_dim;
    Matrix q(size(kChunk * dim), 0);
    for (std::int64_t r = 0; r < std::ssize(pairs); ++r) {
      const std::uint16_t* row = &in_.tensors.q[size(pairs[size(r)] * dim)];
      std::transform(row, row + dim, &q[size(r * dim)], bf16_to_float);
    }
    return q;
  }

  [[nodiscard]] Matrix scaled(Matrix m) const {
    for (double& x : m) x *= in_.tensors.softmax_scale;
    return m;
  }

  // The rule in words of its own: row i has the position n - q + i, sees no later key if causal,
  // and none further left than the window.
  [[nodiscard]] KeyRange visible(const Place& p, std::int64_t row) const {
    const std::int64_t position = p.kv_len - p.qo_len + row;
    const std::int64_t last = in_.causal ? std::max<std::int64_t>(position + 1, 0) : p.kv_len;
    const std::int64_t window = in_.layer.window;
    return {window < 0 ? 0 : std::max<std::int64_t>(position - window, 0), last};
  }

  void store(const Row& row, const Keys& keys, const double* n, const double* n_error,
             std::int64_t pair) const {
    if (row.weights.sum == 0) return;
    for (std::int64_t d = 0; d < in_.layer.head_dim; ++d) {
      const std::size_t to = size(pair * in_.layer.head_dim + d);
      out_.out[to] = n[d] / row.weights.sum;
      out_.out_bound[to] = row.model.output_bound({.value = out_.out[to],
                                                   .numerator = n_error[d] / row.weights.sum,
                                                   .largest_v = keys.largest_abs[size(d)]},
                                                  row.weights.denominator);
    }
  }

  const FaReferenceInput& in_;
  FaReference& out_;
  ErrorModel model_;
};

}  // namespace

FaReference fa_reference(const FaReferenceInput& in) {
  FaReference out;
  out.out.assign(in.tensors.q.size(), 0);
  out.out_bound.assign(in.tensors.q.size(), 0);
  const Evaluation evaluation(in, out);
  std::int64_t first_row = 0;
  for (std::size_t r = 0; r < in.batch.requests.size(); ++r) {
    const auto [q, n] = in.batch.requests[r];
    const Place place{static_cast<std::int64_t>(r), first_row, q, n};
    for (std::int64_t h = 0; n > 0 && h < in.layer.kv_heads.count(); ++h) {
      const std::vector<std::int64_t> pairs = evaluation.evaluated_pairs(place, h);
      if (pairs.empty()) continue;
      const Keys keys(in, place, h);
      for (std::size_t first = 0; first < pairs.size(); first += size(kChunk))
        evaluation.run(
            place, keys,
            std::span(pairs).subspan(first, std::min(size(kChunk), pairs.size() - first)));
    }
    first_row += q;
  }
  return out;
}

}  // namespace mla::cpu

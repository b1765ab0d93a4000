#include "cpu_backend/fa/reference.hpp"

#include <algorithm>

#include "core/numeric/bf16.hpp"
#include "cpu_backend/dense/attend_rows.hpp"

namespace mla::cpu {

using fa::CachePlane;

namespace {

std::size_t extent(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

// Where one request lies in the tensors.
struct FaPlace {
  std::int64_t request = 0;
  std::int64_t first_row = 0;
  std::int64_t qo_len = 0;
  std::int64_t kv_len = 0;
};

// Element 0 of key or value `position` of a request, KV head 0.
const std::uint16_t* token(const FaReferenceInput& in, const FaPlace& p, std::int64_t position,
                           CachePlane plane) {
  const fa::Tensors& t = in.tensors;
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

  Keys(const FaReferenceInput& in, const FaPlace& p, std::int64_t kv_head)
      : keys(in.layer.head_dim, p.kv_len),
        values(p.kv_len, in.layer.head_dim),
        largest_abs(extent(in.layer.head_dim), 0) {
    const std::int64_t dim = in.layer.head_dim;
    for (std::int64_t j = 0; j < p.kv_len; ++j) {
      const std::uint16_t* key = token(in, p, j, CachePlane::keys) + kv_head * dim;
      const std::uint16_t* value = token(in, p, j, CachePlane::values) + kv_head * dim;
      for (std::int64_t d = 0; d < dim; ++d) {
        keys.at(d, j) = bf16_to_float(key[d]);
        const double v = bf16_to_float(value[d]);
        values.at(j, d) = v;
        largest_abs[extent(d)] = std::max(largest_abs[extent(d)], std::fabs(v));
      }
    }
  }
};

class FaEvaluation {
 public:
  FaEvaluation(const FaReferenceInput& in, ReferenceResult& out) : in_(in), out_(out) {
    model_.output_unit = unit_roundoff(Bf16Rounding::nearest_even);
    model_.dot_length = in.layer.head_dim;
  }

  // The evaluated pairs of the heads of a KV head. The others are marked, if they see a key.
  [[nodiscard]] std::vector<std::int64_t> evaluated_pairs(const FaPlace& p,
                                                          std::int64_t kv_head) const {
    std::vector<std::int64_t> pairs;
    const std::int64_t group = in_.layer.group();
    for (std::int64_t i = 0; i < p.qo_len; ++i) {
      const VisibleKeys range = visible(p, i);
      if (range.first >= range.last) continue;
      for (std::int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
        const std::int64_t pair = (p.first_row + i) * in_.layer.heads.count() + h;
        if (has_pair(in_.pairs, pair)) {
          pairs.push_back(pair);
        } else {
          const std::int64_t dim = in_.layer.head_dim;
          std::fill_n(&out_.out_bound[extent(pair * dim)], dim, kNotEvaluated);
        }
      }
    }
    return pairs;
  }

  void run(const FaPlace& p, const Keys& keys, Pairs pairs) const {
    std::vector<VisibleKeys> seen;
    for (const std::int64_t pair : pairs)
      seen.push_back(visible(p, pair / in_.layer.heads.count() - p.first_row));
    std::vector<ErrorModel> models(pairs.size(), model_);
    for (ErrorModel& model : models) model.bf16_merges = in_.bf16_merges[extent(p.request)];
    const AttendedRows rows =
        attend_rows(load_q(pairs), keys.keys, keys.values, in_.tensors.softmax_scale, seen, models);
    for (std::size_t r = 0; r < pairs.size(); ++r) {
      if (rows.weights[r].sum == 0) continue;
      for (std::int64_t d = 0; d < in_.layer.head_dim; ++d) {
        const std::size_t to = extent(pairs[r] * in_.layer.head_dim + d);
        const BoundedValue e = output(models[r], rows.weights[r], rows.sums.value(r, d),
                                      rows.sums.error(r, d), keys.largest_abs[extent(d)]);
        out_.out[to] = e.value;
        out_.out_bound[to] = e.bound;
      }
    }
  }

 private:
  // [pairs, dim], padded.
  [[nodiscard]] Matrix load_q(Pairs pairs) const {
    const std::int64_t dim = in_.layer.head_dim;
    Matrix q = padded_rows(std::ssize(pairs), dim);
    for (std::int64_t r = 0; r < std::ssize(pairs); ++r) {
      const std::uint16_t* row = &in_.tensors.q[extent(pairs[extent(r)] * dim)];
      std::transform(row, row + dim, &q(r, 0), bf16_to_float);
    }
    return q;
  }

  // The rule in words of its own: row i has the position n - q + i, sees no later key if causal,
  // and none further left than the window.
  [[nodiscard]] VisibleKeys visible(const FaPlace& p, std::int64_t row) const {
    const std::int64_t position = p.kv_len - p.qo_len + row;
    const std::int64_t last = in_.causal ? std::max<std::int64_t>(position + 1, 0) : p.kv_len;
    const std::int64_t window = in_.layer.window;
    return {window < 0 ? 0 : std::max<std::int64_t>(position - window, 0), last};
  }

  const FaReferenceInput& in_;
  ReferenceResult& out_;
  ErrorModel model_;
};

}  // namespace

ReferenceResult fa_reference(const FaReferenceInput& in) {
  ReferenceResult out;
  out.out.assign(in.tensors.q.size(), 0);
  out.out_bound.assign(in.tensors.q.size(), 0);
  const FaEvaluation evaluation(in, out);
  std::int64_t first_row = 0;
  for (std::size_t r = 0; r < in.batch.requests.size(); ++r) {
    const auto [q, n] = in.batch.requests[r];
    const FaPlace place{static_cast<std::int64_t>(r), first_row, q, n};
    for (std::int64_t h = 0; n > 0 && h < in.layer.kv_heads.count(); ++h) {
      const std::vector<std::int64_t> pairs = evaluation.evaluated_pairs(place, h);
      if (pairs.empty()) continue;
      const Keys keys(in, place, h);
      for (std::size_t first = 0; first < pairs.size(); first += extent(kRowChunk))
        evaluation.run(
            place, keys,
            std::span(pairs).subspan(first, std::min(extent(kRowChunk), pairs.size() - first)));
    }
    first_row += q;
  }
  return out;
}

}  // namespace mla::cpu

#include "cpu_backend/dense/attend_rows.hpp"

#include <cmath>

namespace mla::cpu {

Matrix exact_scores(const Matrix& q, const Panels& keys, double scale) {
  return product(q, keys, Entries::as_they_are) * scale;
}

Matrix absolute_scores(const Matrix& q, const Panels& keys, double scale) {
  return product(xt::abs(q), keys, Entries::absolute) * std::fabs(scale);
}

ValueSums value_sums(const Matrix& weights, const Matrix& errors, const Panels& values) {
  return {product(weights, values, Entries::as_they_are),
          product(errors, values, Entries::absolute)};
}

AttendedRows attend_rows(const Matrix& q, const Panels& keys, const Panels& values, double scale,
                         std::span<const VisibleKeys> visible, std::span<ErrorModel> models) {
  const Matrix scores = exact_scores(q, keys, scale);
  const Matrix absolute = absolute_scores(q, keys, scale);
  // A row of weights has one entry for every key; those that it does not see stay 0.
  Matrix w = xt::zeros<double>({q.shape(0), static_cast<std::size_t>(values.rows())});
  Matrix w_error = xt::zeros_like(w);
  std::vector<RowWeights> weights(visible.size());
  for (std::size_t r = 0; r < visible.size(); ++r) {
    const auto [first, last] = visible[r];
    models[r].keys = last - first;
    models[r].score_scale = std::fabs(scale);
    if (models[r].keys <= 0) continue;
    weights[r] = weigh_row(models[r], &scores(r, first), &absolute(r, first), &w(r, first),
                           &w_error(r, first));
  }
  return {value_sums(w, w_error, values), std::move(weights)};
}

BoundedValue output(const ErrorModel& model, const RowWeights& weights, double sum, double error,
                    double largest_abs) {
  const double value = sum / weights.sum;
  return {value, model.output_bound(
                     {.value = value, .numerator = error / weights.sum, .largest_v = largest_abs},
                     weights.denominator)};
}

}  // namespace mla::cpu

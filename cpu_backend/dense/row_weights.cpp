#include "cpu_backend/dense/row_weights.hpp"

#include <algorithm>

namespace mla::cpu {

RowWeights weigh_row(ErrorModel& model, const double* scores, const double* abs_scores, double* w,
                     double* w_error) {
  const double m = *std::max_element(scores, scores + model.keys);
  model.largest_score = 0;
  for (std::int64_t j = 0; j < model.keys; ++j)
    model.largest_score = std::max(model.largest_score, std::fabs(scores[j]));
  RowWeights row;
  double error = 0;
  double largest_log_error = 0;
  for (std::int64_t j = 0; j < model.keys; ++j) {
    w[j] = std::exp(scores[j] - m);
    row.sum += w[j];
    const double log_error = model.log_weight_error(scores[j], abs_scores[j], m);
    const double rel = ErrorModel::relative(log_error);
    w_error[j] = model.numerator_error(w[j], rel);
    if (w[j] > 0) error += w[j] * rel;
    largest_log_error = std::max(largest_log_error, log_error);
  }
  row.denominator = model.denominator_error(error / row.sum);
  row.lse = m + std::log(row.sum);
  row.lse_bound = model.lse_bound(row.denominator, largest_log_error);
  return row;
}

}  // namespace mla::cpu

#include "cpu_backend/dense/row_weights.hpp"

#include <algorithm>

namespace mla::cpu {

void RowSoftmax::scan(const double* scores, std::int64_t keys) {
  for (std::int64_t j = 0; j < keys; ++j) {
    max_ = std::max(max_, scores[j]);
    largest_ = std::max(largest_, std::fabs(scores[j]));
  }
}

void RowSoftmax::weigh(ErrorModel& model, const double* scores, const double* abs_scores,
                       std::int64_t keys, double* w, double* w_error) {
  model.largest_score = largest_;
  const KeyErrors errors(model);
  for (std::int64_t j = 0; j < keys; ++j) {
    w[j] = std::exp(scores[j] - max_);
    sum_ += w[j];
    const double log_error = errors.log_weight(scores[j], abs_scores[j], max_);
    const double rel = ErrorModel::relative(log_error);
    w_error[j] = errors.numerator(w[j], rel);
    if (w[j] > 0) error_ += w[j] * rel;
    largest_log_error_ = std::max(largest_log_error_, log_error);
  }
}

RowWeights RowSoftmax::finish(const ErrorModel& model) const {
  RowWeights row;
  row.sum = sum_;
  row.denominator = model.denominator_error(error_ / sum_);
  row.lse = max_ + std::log(sum_);
  row.lse_bound = model.lse_bound(row.denominator, largest_log_error_);
  return row;
}

RowWeights weigh_row(ErrorModel& model, const double* scores, const double* abs_scores, double* w,
                     double* w_error) {
  RowSoftmax row;
  row.scan(scores, model.keys);
  row.weigh(model, scores, abs_scores, model.keys, w, w_error);
  return row.finish(model);
}

}  // namespace mla::cpu

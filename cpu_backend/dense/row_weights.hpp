// Softmax weights of one row in float64, with a bound on the error of each.
//
// What the references of all step kinds share: from exact scores and sums of absolute products to
// weights e^(s - m), the errors of ErrorModel beside them, and the row's LSE.
#pragma once

#include <limits>

#include "cpu_backend/dense/error_model.hpp"

namespace mla::cpu {

struct RowWeights {
  double sum = 0;          // W
  double denominator = 0;  // its relative error
  double lse = 0;
  double lse_bound = 0;
};

// The weights of a row whose keys come in blocks: scan() every block, then weigh() every block,
// then finish(). model.keys (at least 1) counts the keys of all blocks.
class RowSoftmax {
 public:
  void scan(const double* scores, std::int64_t keys);
  // Writes a weight and a weight error for each of the block's keys. Sets model.largest_score.
  void weigh(ErrorModel& model, const double* scores, const double* abs_scores, std::int64_t keys,
             double* w, double* w_error);
  [[nodiscard]] RowWeights finish(const ErrorModel& model) const;

 private:
  double max_ = -std::numeric_limits<double>::infinity();
  double largest_ = 0;  // of the absolute scores
  double sum_ = 0;
  double error_ = 0;  // sum of weight times relative error
  double largest_log_error_ = 0;
};

// All of it for a row of model.keys keys in one block.
RowWeights weigh_row(ErrorModel& model, const double* scores, const double* abs_scores, double* w,
                     double* w_error);

}  // namespace mla::cpu

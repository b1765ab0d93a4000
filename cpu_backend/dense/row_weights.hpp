// Softmax weights of one row in float64, with a bound on the error of each.
//
// What the references of all step kinds share: from exact scores and sums of absolute products to
// weights e^(s - m), the errors of ErrorModel beside them, and the row's LSE. Fails: never.
#pragma once

#include "cpu_backend/dense/error_model.hpp"

namespace mla::cpu {

struct RowWeights {
  double sum = 0;          // W
  double denominator = 0;  // its relative error
  double lse = 0;
  double lse_bound = 0;
};

// Reads model.keys (at least 1) scores and absolute scores, writes as many weights and weight
// errors, and sets model.largest_score.
RowWeights weigh_row(ErrorModel& model, const double* scores, const double* abs_scores, double* w,
                     double* w_error);

}  // namespace mla::cpu

// Rows of queries that attend to keys in one block, in float64 with a bound for each element.
//
// What the references of all step kinds share: scores, weights, and the sums over the values, each
// beside the bound of its error (docs/reference/numerics.md). Which keys a row sees is decided by
// the caller.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/units.hpp"
#include "cpu_backend/dense/error_model.hpp"
#include "cpu_backend/dense/matrix.hpp"
#include "cpu_backend/dense/matrix_product.hpp"
#include "cpu_backend/dense/row_weights.hpp"

namespace mla::cpu {

inline constexpr std::int64_t kRowChunk = 16;  // rows computed together, in every reference

// Zeros of [rows, columns], the rows rounded up to what product() takes.
inline Matrix padded_rows(std::int64_t rows, std::int64_t columns) {
  return xt::zeros<double>({ceil_div(rows, kRowGroup) * kRowGroup, columns});
}

// [rows, keys] for `q` of [rows, depth]: the scores, and the same sums over absolute products.
Matrix exact_scores(const Matrix& q, const Panels& keys, double scale);
Matrix absolute_scores(const Matrix& q, const Panels& keys, double scale);

struct VisibleKeys {
  std::int64_t first = 0;
  std::int64_t last = 0;  // one beyond; a row whose last <= first sees none
};

// [rows, value columns] each: the sum of weights times values, and of weight errors times |values|.
struct ValueSums {
  Matrix value;
  Matrix error;
};
ValueSums value_sums(const Matrix& weights, const Matrix& errors, const Panels& values);

struct AttendedRows {
  ValueSums sums;
  std::vector<RowWeights> weights;  // sum 0 for a row without keys
};
// Row r of `q` sees the keys visible[r]; models[r].keys and its largest score are set here. `q` has
// padded rows, the spans may have fewer.
AttendedRows attend_rows(const Matrix& q, const Panels& keys, const Panels& values, double scale,
                         std::span<const VisibleKeys> visible, std::span<ErrorModel> models);

// One element of a row's output before the cache scale, and its bound. `sum` and `error` are of
// ValueSums, `largest_abs` is the largest |value| of its column.
struct BoundedValue {
  double value = 0;
  double bound = 0;
};
BoundedValue output(const ErrorModel& model, const RowWeights& weights, double sum, double error,
                    double largest_abs);

}  // namespace mla::cpu

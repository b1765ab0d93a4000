// Matrix products in float64, fast enough that the reference does not dominate a property test.
//
// The right operand is packed in panels of eight columns, [panel][row][8], so that the inner loop
// reads memory in order. Sums over the inner dimension run in ascending order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/lifetime.hpp"
#include "cpu_backend/dense/matrix.hpp"

namespace mla::cpu {

inline constexpr std::int64_t kPanelColumns = 8;
inline constexpr std::int64_t kRowGroup = 4;  // rows of the left operand come in such groups

// A matrix of `rows` by `columns`; the columns are padded with zeros to whole panels.
class Panels {
 public:
  Panels(std::int64_t rows, std::int64_t columns);
  [[nodiscard]] double& at(std::int64_t row, std::int64_t column) {
    return data_[static_cast<std::size_t>((column / kPanelColumns * rows_ + row) * kPanelColumns +
                                          column % kPanelColumns)];
  }
  [[nodiscard]] const double* panel(std::int64_t index) const MLA_LIFETIME_BOUND {
    return data_.data() + index * rows_ * kPanelColumns;
  }
  [[nodiscard]] double* panel(std::int64_t index) {
    return data_.data() + index * rows_ * kPanelColumns;
  }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t padded_columns() const { return panels_ * kPanelColumns; }

 private:
  std::int64_t rows_;
  std::int64_t panels_;
  std::vector<double> data_;
};

enum class Entries : std::uint8_t { as_they_are, absolute };

// [m][n] = sum over k of left[m][k] * right[k][n], with |right| for `absolute`. `left` has a
// multiple of kRowGroup rows and right.rows() columns; the product has right.padded_columns()
// columns.
Matrix product(const Matrix& left, const Panels& right, Entries entries);

// The same by each instruction set that this machine has; the first is what product() uses. Those
// with a fused multiply-add give the same bits.
struct ProductFunction {
  const char* name;
  bool fused;
  void (*as_they_are)(const double* left, std::int64_t rows, const Panels&, double* product);
  void (*absolute)(const double* left, std::int64_t rows, const Panels&, double* product);
};
std::span<const ProductFunction> product_functions();
Matrix product(const Matrix& left, const Panels& right, Entries entries,
               const ProductFunction& with);

}  // namespace mla::cpu

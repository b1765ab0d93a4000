#include "cpu_backend/dense/matrix_product.hpp"

#include "core/units.hpp"

namespace mla::cpu {
namespace {

typedef double Four __attribute__((vector_size(32), may_alias, aligned(8)));
typedef double Eight __attribute__((vector_size(64), may_alias, aligned(8)));

// What an instruction set does best: its vector, and how many rows are multiplied together. The
// sums are the same for all of them, element by element.
struct FourLanes {
  using Vector = Four;
  static constexpr std::int64_t kRows = 4;
};
struct EightLanes {
  using Vector = Eight;
  static constexpr std::int64_t kRows = 8;
};

// kRows rows of one panel of the product; a row of the product has `width` columns.
template <class T, std::int64_t kRows, Entries kEntries>
__attribute__((always_inline)) inline void multiply_rows(const double* left, const double* panel,
                                                         std::int64_t depth, std::int64_t width,
                                                         double* product) {
  using V = typename T::Vector;
  constexpr std::int64_t kLanes = sizeof(V) / sizeof(double);
  constexpr std::int64_t kVectors = kPanelColumns / kLanes;
  V sum[kRows][kVectors] = {};
  for (std::int64_t k = 0; k < depth; ++k)
    for (std::int64_t v = 0; v < kVectors; ++v) {
      V x = *reinterpret_cast<const V*>(panel + k * kPanelColumns + v * kLanes);
      if constexpr (kEntries == Entries::absolute) x = x < 0 ? -x : x;
      for (std::int64_t r = 0; r < kRows; ++r) sum[r][v] += left[r * depth + k] * x;
    }
  for (std::int64_t r = 0; r < kRows; ++r)
    for (std::int64_t v = 0; v < kVectors; ++v)
      *reinterpret_cast<V*>(product + r * width + v * kLanes) = sum[r][v];
}

// A panel is used for all rows while it lies in the first cache.
template <class T, Entries kEntries>
__attribute__((always_inline)) inline void multiply_body(const double* left, std::int64_t rows,
                                                         const Panels& right, double* product) {
  const std::int64_t depth = right.rows();
  const std::int64_t width = right.padded_columns();
  for (std::int64_t column = 0; column < width; column += kPanelColumns) {
    const double* panel = right.panel(column / kPanelColumns);
    std::int64_t row = 0;
    for (; row + T::kRows <= rows; row += T::kRows)
      multiply_rows<T, T::kRows, kEntries>(left + row * depth, panel, depth, width,
                                           product + row * width + column);
    for (; row < rows; row += kRowGroup)
      multiply_rows<T, kRowGroup, kEntries>(left + row * depth, panel, depth, width,
                                            product + row * width + column);
  }
}

#if defined(__x86_64__)
template <Entries kEntries>
__attribute__((target("avx512f"))) void multiply_avx512(const double* left, std::int64_t rows,
                                                        const Panels& right, double* product) {
  multiply_body<EightLanes, kEntries>(left, rows, right, product);
}
template <Entries kEntries>
__attribute__((target("avx2,fma"))) void multiply_avx2(const double* left, std::int64_t rows,
                                                       const Panels& right, double* product) {
  multiply_body<FourLanes, kEntries>(left, rows, right, product);
}
#endif

template <Entries kEntries>
void multiply_portable(const double* left, std::int64_t rows, const Panels& right,
                       double* product) {
  multiply_body<FourLanes, kEntries>(left, rows, right, product);
}

std::vector<ProductFunction> on_this_machine() {
  constexpr Entries kPlain = Entries::as_they_are;
  constexpr Entries kAbsolute = Entries::absolute;
  std::vector<ProductFunction> found;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0)
    found.push_back({"avx512", true, multiply_avx512<kPlain>, multiply_avx512<kAbsolute>});
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0)
    found.push_back({"avx2", true, multiply_avx2<kPlain>, multiply_avx2<kAbsolute>});
#endif
  found.push_back({"portable", false, multiply_portable<kPlain>, multiply_portable<kAbsolute>});
  return found;
}

}  // namespace

Panels::Panels(std::int64_t rows, std::int64_t columns)
    : rows_(rows),
      panels_(ceil_div(columns, kPanelColumns)),
      data_(static_cast<std::size_t>(rows_ * panels_ * kPanelColumns)) {}

std::span<const ProductFunction> product_functions() {
  static const std::vector<ProductFunction> found = on_this_machine();
  return found;
}

Matrix product(const Matrix& left, const Panels& right, Entries entries,
               const ProductFunction& with) {
  Matrix out = xt::empty<double>({left.shape(0), static_cast<std::size_t>(right.padded_columns())});
  (entries == Entries::absolute ? with.absolute : with.as_they_are)(
      left.data(), static_cast<std::int64_t>(left.shape(0)), right, out.data());
  return out;
}

Matrix product(const Matrix& left, const Panels& right, Entries entries) {
  return product(left, right, entries, product_functions().front());
}

}  // namespace mla::cpu

#include "cpu_backend/dense/matrix_product.hpp"

#include "core/units.hpp"

namespace mla::cpu {
namespace {

typedef double Four __attribute__((vector_size(32), may_alias, aligned(8)));
typedef std::int64_t FourBits __attribute__((vector_size(32)));

template <Entries kEntries>
__attribute__((always_inline)) inline void multiply_body(const double* left,
                                                         std::int64_t row_groups,
                                                         const Panels& right, double* product) {
  const std::int64_t depth = right.rows();
  const std::int64_t width = right.padded_columns();
  for (std::int64_t g = 0; g < row_groups; ++g) {
    const double* a = left + g * kRowGroup * depth;
    for (std::int64_t column = 0; column < width; column += kPanelColumns) {
      const double* b = right.panel(column / kPanelColumns);
      Four sum[kRowGroup][2] = {};
      for (std::int64_t k = 0; k < depth; ++k) {
        Four b0 = *reinterpret_cast<const Four*>(b + k * kPanelColumns);
        Four b1 = *reinterpret_cast<const Four*>(b + k * kPanelColumns + 4);
        if constexpr (kEntries == Entries::absolute) {
          const FourBits no_sign = FourBits{} + INT64_MAX;
          b0 = reinterpret_cast<Four>(reinterpret_cast<FourBits>(b0) & no_sign);
          b1 = reinterpret_cast<Four>(reinterpret_cast<FourBits>(b1) & no_sign);
        }
        for (std::int64_t r = 0; r < kRowGroup; ++r) {
          sum[r][0] += a[r * depth + k] * b0;
          sum[r][1] += a[r * depth + k] * b1;
        }
      }
      for (std::int64_t r = 0; r < kRowGroup; ++r) {
        double* out = product + (g * kRowGroup + r) * width + column;
        *reinterpret_cast<Four*>(out) = sum[r][0];
        *reinterpret_cast<Four*>(out + 4) = sum[r][1];
      }
    }
  }
}

using Multiply = void (*)(const double*, std::int64_t, const Panels&, double*);

#if defined(__x86_64__)
template <Entries kEntries>
__attribute__((target("avx2,fma"))) void multiply_avx2(const double* left, std::int64_t row_groups,
                                                       const Panels& right, double* product) {
  multiply_body<kEntries>(left, row_groups, right, product);
}
#endif

template <Entries kEntries>
void multiply_portable(const double* left, std::int64_t row_groups, const Panels& right,
                       double* product) {
  multiply_body<kEntries>(left, row_groups, right, product);
}

template <Entries kEntries>
Multiply choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0)
    return multiply_avx2<kEntries>;
#endif
  return multiply_portable<kEntries>;
}

}  // namespace

Panels::Panels(std::int64_t rows, std::int64_t columns)
    : rows_(rows),
      panels_(ceil_div(columns, kPanelColumns)),
      data_(static_cast<std::size_t>(rows_ * panels_ * kPanelColumns)) {}

void multiply(const double* left, std::int64_t row_groups, const Panels& right, Entries entries,
              double* product) {
  static const Multiply as_they_are = choose<Entries::as_they_are>();
  static const Multiply absolute = choose<Entries::absolute>();
  (entries == Entries::absolute ? absolute : as_they_are)(left, row_groups, right, product);
}

}  // namespace mla::cpu

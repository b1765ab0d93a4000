// The products of the float64 references, by every instruction set that this machine has.
#include "cpu_backend/dense/matrix_product.hpp"

#include <cmath>
#include <random>
#include <string>

#include "tests/catch.hpp"

using namespace mla::cpu;

namespace {

struct Factors {
  Matrix left;
  Panels right;

  Factors(std::int64_t rows, std::int64_t depth, std::int64_t columns)
      : left(Matrix::from_shape({static_cast<std::size_t>(rows), static_cast<std::size_t>(depth)})),
        right(depth, columns) {
    std::mt19937_64 random(static_cast<std::uint64_t>(rows * 1000 + depth + columns));
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (double& x : left) x = uniform(random);
    for (std::int64_t k = 0; k < depth; ++k)
      for (std::int64_t n = 0; n < columns; ++n) right.at(k, n) = uniform(random);
  }
};

// The exact sum to about 64 bits, and the same over absolute products.
struct Sum {
  long double value = 0;
  long double magnitude = 0;
};
Sum sum_of(Factors& f, std::int64_t m, std::int64_t n, Entries entries) {
  Sum sum;
  for (std::int64_t k = 0; k < f.right.rows(); ++k) {
    const long double right = f.right.at(k, n);
    const long double term =
        f.left(m, k) * (entries == Entries::absolute ? std::fabs(right) : right);
    sum.value += term;
    sum.magnitude += std::fabs(term);
  }
  return sum;
}

struct Size {
  std::int64_t rows, depth, columns;
};
constexpr Size kSizes[] = {{4, 1, 1}, {8, 5, 8}, {12, 576, 9}, {16, 33, 40}, {20, 64, 7}};

}  // namespace

TEST_CASE("product: each element is within the rounding of its sum, by every instruction set") {
  for (const ProductFunction& by : product_functions())
    for (const Size& size : kSizes)
      for (const Entries entries : {Entries::as_they_are, Entries::absolute}) {
        INFO(by.name << ", " << size.rows << " x " << size.depth << " x " << size.columns);
        Factors f(size.rows, size.depth, size.columns);
        const Matrix got = product(f.left, f.right, entries, by);
        REQUIRE(static_cast<std::int64_t>(got.shape(0)) == size.rows);
        for (std::int64_t m = 0; m < size.rows; ++m)
          for (std::int64_t n = 0; n < size.columns; ++n) {
            const Sum want = sum_of(f, m, n, entries);
            // A product and an addition a term, each rounded once.
            const long double bound =
                2 * static_cast<long double>(size.depth) * 0x1p-53L * want.magnitude;
            CHECK(std::fabs(got(m, n) - want.value) <= bound);
          }
        for (std::int64_t m = 0; m < size.rows; ++m)
          for (std::int64_t n = size.columns; n < f.right.padded_columns(); ++n)
            CHECK(got(m, n) == 0);
      }
}

TEST_CASE("product: instruction sets with a fused multiply-add give the same bits") {
  const auto all = product_functions();
  CHECK(std::string(all.back().name) == "portable");
  for (const ProductFunction& by : all)
    for (const Size& size : kSizes)
      for (const Entries entries : {Entries::as_they_are, Entries::absolute}) {
        if (!by.fused) continue;
        INFO(by.name << ", " << size.rows << " x " << size.depth << " x " << size.columns);
        Factors f(size.rows, size.depth, size.columns);
        const bool same =
            product(f.left, f.right, entries, by) == product(f.left, f.right, entries, all.front());
        CHECK(same);
      }
}

#include "properties/step/one_factor.hpp"

#include <cmath>

#include "core/numeric/bf16.hpp"

namespace mla::prop {
namespace {

constexpr double kRounding = 1.0 / 256;  // of bf16: 8 bits, to nearest
constexpr double kLeastChange = 0.01;    // a factor nearer to 1 is no scale

}  // namespace

std::optional<double> one_factor(std::span<const std::uint16_t> out,
                                 const cpu::ReferenceResult& reference, std::int64_t dims_of_pair,
                                 std::span<const std::int64_t> pairs) {
  const auto dims = static_cast<std::size_t>(dims_of_pair);
  double products = 0;
  double squares = 0;
  for (const std::int64_t pair : pairs)
    for (std::size_t i = static_cast<std::size_t>(pair) * dims, end = i + dims; i < end; ++i) {
      products += bf16_to_float(out[i]) * reference.out[i];
      squares += reference.out[i] * reference.out[i];
    }
  const double factor = products / squares;
  if (!std::isfinite(factor) || std::fabs(factor - 1) < kLeastChange) return std::nullopt;
  for (const std::int64_t pair : pairs)
    for (std::size_t i = static_cast<std::size_t>(pair) * dims, end = i + dims; i < end; ++i) {
      const double got = bf16_to_float(out[i]);
      const double allowed =
          std::fabs(factor) * reference.out_bound[i] + kRounding * std::fabs(got);
      if (!(std::fabs(got - factor * reference.out[i]) <= allowed)) return std::nullopt;
    }
  return factor;
}

}  // namespace mla::prop

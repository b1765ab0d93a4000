#include "reference.hpp"

namespace gfx_test::reference {

// The exact product and sum in units of 2^-48, rounded once.
Half fused(Half a, Half b, Half c) {
  const double x = value_of(a), y = value_of(b), z = value_of(c);
  if (!std::isfinite(x * y + z)) return half_of(x * y + z);
  const auto units = [](double value) { return static_cast<i128>(std::ldexp(value, 24)); };
  const i128 sum = units(x) * units(y) + units(z) * (i128{1} << 24);
  if (sum == 0) return half_of(x * y + z);
  return half_of(rounded(sum, 48, f16_format));
}

}  // namespace gfx_test::reference

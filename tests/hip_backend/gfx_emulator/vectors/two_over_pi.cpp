#include "two_over_pi.hpp"

#include <cmath>
#include <vector>

#include "numbers.hpp"

namespace gfx_test {
namespace {

// Fixed point: the first word is whole, the others are the fraction.
constexpr std::size_t size = 46;
using Fixed = std::vector<u32>;

void divide(Fixed& value, u32 by) {
  u64 rest = 0;
  for (u32& word : value) {
    const u64 part = rest << 32 | word;
    word = static_cast<u32>(part / by);
    rest = part % by;
  }
}
void add(Fixed& to, const Fixed& value) {
  u64 carry = 0;
  for (std::size_t k = size; k-- > 0;) {
    carry += u64{to[k]} + value[k];
    to[k] = static_cast<u32>(carry);
    carry >>= 32;
  }
}
void subtract(Fixed& from, const Fixed& value) {
  i64 borrow = 0;
  for (std::size_t k = size; k-- > 0;) {
    const i64 part = i64{from[k]} - value[k] + borrow;
    from[k] = static_cast<u32>(part);
    borrow = part < 0 ? -1 : 0;
  }
}

// factor * atan(1 / x)
Fixed arc_tangent(u32 factor, u32 x) {
  Fixed power(size), sum(size);
  power[0] = factor;
  divide(power, x);
  for (u32 n = 1; n < 2200; n += 2) {
    Fixed term = power;
    divide(term, n);
    (n % 4 == 1 ? add : subtract)(sum, term);
    divide(power, x * x);
  }
  return sum;
}

// Bits of 2 / pi after the point: long division of 2 by pi = 16 atan(1/5) - 4 atan(1/239).
std::vector<bool> make_bits() {
  Fixed pi = arc_tangent(16, 5);
  subtract(pi, arc_tangent(4, 239));
  Fixed rest(size);
  rest[0] = 2;
  std::vector<bool> out;
  while (out.size() < 1201) {
    add(rest, Fixed(rest));
    const bool one = !(rest < pi);
    if (one) subtract(rest, pi);
    out.push_back(one);
  }
  return out;
}

}  // namespace

double trig_preop(double value, unsigned segment) {
  static const std::vector<bool> bits = make_bits();
  const auto exponent = static_cast<int>(bits_of(value) >> 52 & 0x7ff);
  const int shift = static_cast<int>(53 * segment) + (exponent > 1077 ? exponent - 1077 : 0);
  double out = 0;
  for (int k = 0; k < 53; ++k) {
    const auto at = static_cast<std::size_t>(shift + k);
    out = 2 * out + (at < bits.size() && bits[at] ? 1 : 0);
  }
  return std::ldexp(out, -53 - shift + (exponent >= 1968 ? 128 : 0));
}

}  // namespace gfx_test

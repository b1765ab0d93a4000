#include "compare.hpp"

namespace gfx_test {
namespace {

// Numbers in the order of their values, so that neighbours differ by one.
std::int64_t ordered(u64 bits, unsigned size) {
  const u64 sign = u64{1} << (size - 1);
  const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

bool is_nan(u64 bits, unsigned size, unsigned fraction) {
  const u64 top = ((u64{1} << (size - 1)) - 1) & ~((u64{1} << fraction) - 1);
  return (bits & ((u64{1} << (size - 1)) - 1)) > top;
}

bool near(u64 got, u64 wanted, unsigned size, unsigned fraction, int ulps) {
  if (is_nan(wanted, size, fraction)) return is_nan(got, size, fraction);
  if (is_nan(got, size, fraction)) return false;
  if (ulps == 0) return got == wanted;
  return std::abs(ordered(got, size) - ordered(wanted, size)) <= ulps;
}

bool close(u64 got, u64 wanted) {
  const double a = std::bit_cast<float>(static_cast<u32>(got));
  const double b = std::bit_cast<float>(static_cast<u32>(wanted));
  if (!std::isfinite(a) || !std::isfinite(b)) return near(got, wanted, 32, 23, 0);
  return std::abs(a - b) <= 0x1p-22 * (1 + std::abs(b));
}

}  // namespace

bool same(u64 got, u64 wanted, Compare compare) {
  if (got == wanted) return true;
  switch (compare) {
    case Compare::f16:
      return got >> 16 == wanted >> 16 && near(got & 0xffff, wanted & 0xffff, 16, 10, 0);
    case Compare::f16_ulp:
      return got >> 16 == wanted >> 16 && near(got & 0xffff, wanted & 0xffff, 16, 10, 1);
    case Compare::f16_close:
      return got >> 16 == wanted >> 16 &&
             std::abs(value_of(Half{static_cast<u16>(got)}) -
                      value_of(Half{static_cast<u16>(wanted)})) <= 0x1p-10;
    case Compare::two_f16:
      return near(got & 0xffff, wanted & 0xffff, 16, 10, 0) &&
             near(got >> 16, wanted >> 16, 16, 10, 0);
    case Compare::two_bf16:
      return near(got & 0xffff, wanted & 0xffff, 16, 7, 0) &&
             near(got >> 16, wanted >> 16, 16, 7, 0);
    case Compare::two_f32:
      return near(got & 0xffffffff, wanted & 0xffffffff, 32, 23, 0) &&
             near(got >> 32, wanted >> 32, 32, 23, 0);
    case Compare::f32:
      return near(got, wanted, 32, 23, 0);
    case Compare::f32_ulp:
      return near(got, wanted, 32, 23, 1);
    case Compare::f32_close:
      return close(got, wanted);
    case Compare::f64:
      return near(got, wanted, 64, 52, 0);
    case Compare::f64_ulp:
      return near(got, wanted, 64, 52, 1);
    case Compare::bits:
      break;
  }
  return false;
}

}  // namespace gfx_test

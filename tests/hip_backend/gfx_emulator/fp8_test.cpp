// 8-bit floats: FNUZ on gfx942, OCP on gfx950, against the formats' definitions.
#include <cmath>

#include "device.hpp"
#include "tests/catch.hpp"

namespace {

struct Format {
  int fraction, bias;
  double largest;
  bool fnuz, infinity;
};

Format e4m3(bool fnuz) {
  return {3, fnuz ? 8 : 7, fnuz ? 240.0 : 448.0, fnuz, false};
}
Format e5m2(bool fnuz) {
  return {2, fnuz ? 16 : 15, 57344.0, fnuz, !fnuz};
}

double value_of(std::uint32_t byte, const Format& f) {
  if (f.fnuz && byte == 0x80) return NAN;
  const int magnitude = static_cast<int>(byte & 0x7f), exponent = magnitude >> f.fraction;
  const int fraction = magnitude & ((1 << f.fraction) - 1);
  const double value =
      exponent == 0 ? std::ldexp(fraction, 1 - f.bias - f.fraction)
                    : std::ldexp(fraction + (1 << f.fraction), exponent - f.bias - f.fraction);
  const double signed_value = byte > 0x7f ? -value : value;
  if (value <= f.largest) return signed_value;
  return f.infinity && fraction == 0 ? std::copysign(INFINITY, signed_value) : NAN;
}

bool same(double a, double b) {
  return std::isnan(b) ? std::isnan(a) : a == b;
}

// The nearest number, the even one of two; a byte that is right for `value`.
bool right(std::uint32_t byte, double value, const Format& f, bool to_zero) {
  const double got = value_of(byte, f);
  const double step = std::ldexp(1.0, std::max(std::ilogb(value), 1 - f.bias) - f.fraction);
  const double magnitude = std::abs(value) / step;
  const double want =
      std::copysign((to_zero ? std::floor(magnitude) : std::nearbyint(magnitude)) * step, value);
  if (std::abs(want) > f.largest)
    return f.infinity ? got == std::copysign(INFINITY, value) : std::isnan(got);
  return got == want;
}

}  // namespace

TEST_CASE("every byte decodes to its number") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("fp8", target);
  const bool fnuz = target.arch == "gfx942";
  const auto out = device.buffer<float>(6 * 256, "out");
  device.run("decode", gfx_test::Arguments().add(out), {.block = {256, 1, 1}});
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    INFO("byte " << byte);
    const double want = value_of(byte, e4m3(fnuz)), wide = value_of(byte, e5m2(fnuz));
    REQUIRE(same(out[6 * byte], want));
    REQUIRE(same(out[6 * byte + 1], want));
    REQUIRE(same(out[6 * byte + 2], wide));
    REQUIRE(same(out[6 * byte + 3], want));
    REQUIRE(out[6 * byte + 4] == 0);
    REQUIRE(same(out[6 * byte + 5], wide));
  }
}

TEST_CASE("numbers become the nearest byte, and what is out of range becomes NaN or infinity") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("fp8", target);
  const bool fnuz = target.arch == "gfx942";
  gfx_test::Random random(17);
  std::vector<float> values = {1, -1, 240, 248, 256, 448, 464, 465, 57344, 61440, 1e9F, 0x1p-10F};
  for (std::uint32_t byte = 1; byte < 0x78; ++byte) {
    const double a = value_of(byte, e4m3(fnuz)), b = value_of(byte + 1, e4m3(fnuz));
    values.insert(values.end(), {static_cast<float>(a), static_cast<float>((a + b) / 2)});
  }
  while (values.size() < 2048) {
    const double exponent = random.uniform(-14, 12);
    values.push_back(static_cast<float>(std::exp2(exponent) * (random.next() % 2 == 0 ? 1 : -1)));
  }
  const auto in = device.upload(values, "in");
  const auto out = device.buffer<std::uint32_t>(4 * 1024, "out");
  device.run("encode", gfx_test::Arguments().add(in).add(out),
             {.grid = {4, 1, 1}, .block = {256, 1, 1}});
  for (std::size_t n = 0; n < 1024; ++n) {
    const double a = values[2 * n], b = values[2 * n + 1];
    const std::uint32_t* const got = &out[4 * n];
    INFO(a << ", " << b << ": " << std::hex << got[0] << " " << got[1] << " " << got[2]);
    REQUIRE(right(got[0] & 0xff, a, e4m3(fnuz), false));
    REQUIRE(right(got[0] >> 8 & 0xff, b, e4m3(fnuz), false));
    REQUIRE(got[0] >> 16 == 0x1234);
    REQUIRE((got[1] & 0xffff) == (got[0] & 0xffff));
    REQUIRE(got[1] >> 24 == (got[0] & 0xff));
    REQUIRE(right(got[2] & 0xff, a, e5m2(fnuz), false));
    REQUIRE(right(got[2] >> 8 & 0xff, b, e5m2(fnuz), false));
    REQUIRE(right(got[3] >> 16 & 0xff, a, e4m3(fnuz), true));
  }
}

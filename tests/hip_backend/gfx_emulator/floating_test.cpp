// Floating point arithmetic: what IEEE 754 settles is bit for bit the host's.
#include <cmath>

#include "device.hpp"
#include "kernels/float_ops.hpp"
#include "tests/catch.hpp"

namespace {

constexpr std::size_t count = 1024;
const gfx_test::Shape shape = {.grid = {4, 1, 1}, .block = {256, 1, 1}};

template <class Bits>
std::vector<Bits> special_and_random(std::vector<Bits> special, std::size_t values) {
  gfx_test::Random random(3);
  std::vector<Bits> out;
  while (out.size() < values) {
    const bool chosen = random.next() % 4 == 0;
    out.push_back(chosen ? special[random.next() % special.size()]
                         : static_cast<Bits>(random.next()));
  }
  return out;
}

template <class T, class Bits>
std::vector<T> as(const std::vector<Bits>& bits) {
  std::vector<T> out(bits.size());
  std::memcpy(out.data(), bits.data(), bits.size() * sizeof(T));
  return out;
}

// Equal bits, or both NaN: the payload of a NaN is not settled.
template <class Bits>
bool same(Bits a, Bits b, Bits infinity) {
  const Bits magnitude = static_cast<Bits>(~(Bits{1} << (8 * sizeof(Bits) - 1)));
  return a == b || ((a & magnitude) > infinity && (b & magnitude) > infinity);
}

std::vector<float> float_inputs() {
  return as<float>(special_and_random<u32>(
      {0, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 1, 0x807fffff,
       0x00800000, 0x7f7fffff, 0x4effffff, 0xcf000000, 0x4f7fffff, 0x3effffff, 0x40490fdb},
      3 * count));
}

}  // namespace

TEST_CASE("f32 arithmetic is the host's, denormals included") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("floating", target);
  const auto values = float_inputs();
  const auto in = device.upload(values, "in");
  const auto out = device.buffer<u32>(count * float_results, "out");
  device.run("floating", gfx_test::Arguments().add(in).add(out), shape);
  for (std::size_t n = 0; n < count; ++n) {
    u32 want[float_results];
    float_ops(values[3 * n], values[3 * n + 1], values[3 * n + 2], want);
    for (std::size_t k = 0; k < float_results; ++k) {
      INFO("operation " << k << " of " << values[3 * n] << ", " << values[3 * n + 1] << ", "
                        << values[3 * n + 2]);
      INFO(std::hex << out[n * float_results + k] << " for " << want[k]);
      REQUIRE(same<u32>(out[n * float_results + k], want[k], 0x7f800000));
    }
  }
}

TEST_CASE("f64 arithmetic is the host's") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("floating", target);
  const auto values = as<double>(special_and_random<u64>(
      {0, 0x8000000000000000, 0x3ff0000000000000, 0x7ff0000000000000, 0x7ff8000000000000, 1,
       0x0010000000000000, 0x7fefffffffffffff, 0x41dfffffffc00000, 0xc1e0000000000000,
       0x43d0000000000001, 0x3fe0000000000000},
      3 * count));
  const auto in = device.upload(values, "in");
  const auto out = device.buffer<u64>(count * double_results, "out");
  device.run("floating_double", gfx_test::Arguments().add(in).add(out), shape);
  for (std::size_t n = 0; n < count; ++n) {
    u64 want[double_results];
    double_ops(values[3 * n], values[3 * n + 1], values[3 * n + 2], want);
    for (std::size_t k = 0; k < double_results; ++k) {
      const u64 got = out[n * double_results + k];
      const bool narrow = k == 16;
      INFO("operation " << k << " of " << values[3 * n] << ", " << values[3 * n + 1] << ", "
                        << values[3 * n + 2] << std::hex << ": " << got << " for " << want[k]);
      REQUIRE((narrow ? same<u32>(static_cast<u32>(got), static_cast<u32>(want[k]), 0x7f800000)
                      : same<u64>(got, want[k], 0x7ff0000000000000)));
    }
  }
}

// Numerators just above and below the smallest number, so that a few bits of the quotient are lost.
TEST_CASE("65,536 denormal quotients of f32 and of f64 each are rounded once, as the host does") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("floating", target);
  constexpr std::size_t pairs = 65536;
  const gfx_test::Shape many = {.grid = {pairs / 256, 1, 1}, .block = {256, 1, 1}};
  gfx_test::Random random(9);
  std::vector<float> singles;
  std::vector<double> doubles;
  for (std::size_t n = 0; n < pairs; ++n) {
    const double size = std::ldexp(random.uniform(1, 2), -static_cast<int>(n % 6));
    const double by = std::ldexp(random.uniform(1, 2), static_cast<int>(n / 6 % 12));
    const double sign = n % 5 == 0 ? -1 : 1;
    singles.push_back(static_cast<float>(sign * std::ldexp(size, -126)));
    singles.push_back(static_cast<float>(by));
    doubles.push_back(sign * std::ldexp(size, -1022));
    doubles.push_back(by);
  }
  singles[0] = as<float>(std::vector<u32>{0x007fffff})[0], singles[1] = 1.5F;
  const auto in = device.upload(singles, "in");
  const auto in_double = device.upload(doubles, "in_double");
  const auto out = device.buffer<float>(pairs, "out");
  const auto out_double = device.buffer<double>(pairs, "out_double");
  device.run("floating_quotients", gfx_test::Arguments().add(in).add(out), many);
  device.run("floating_quotients_double", gfx_test::Arguments().add(in_double).add(out_double),
             many);
  CHECK(bits32(out[0]) == 0x00555555);
  std::size_t wrong = 0, wrong_double = 0;
  for (std::size_t n = 0; n < pairs; ++n) {
    wrong += bits32(out[n]) != bits32(singles[2 * n] / singles[2 * n + 1]) ? 1 : 0;
    wrong_double += bits64(out_double[n]) != bits64(doubles[2 * n] / doubles[2 * n + 1]) ? 1 : 0;
  }
  CHECK(wrong == 0);
  CHECK(wrong_double == 0);
}

TEST_CASE("f16 arithmetic is the host's, packed or not") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("floating", target);
  const auto bits = special_and_random<u16>(
      {0, 0x8000, 0x3c00, 0x7c00, 0xfc00, 0x7e00, 1, 0x83ff, 0x0400, 0x7bff, 0x6400}, 6 * count);
  const auto values = as<_Float16>(bits);
  const auto in = device.upload(values, "in");
  const auto out = device.buffer<u16>(count * half_results, "out");
  device.run("floating_half", gfx_test::Arguments().add(in).add(out), shape);
  for (std::size_t n = 0; n < count; ++n) {
    u16 want[half_results];
    half_ops(values[3 * n], values[3 * n + 1], values[3 * n + 2], want);
    for (std::size_t k = 0; k < half_results; ++k) {
      const u16 got = out[n * half_results + k];
      INFO("operation " << k << " of " << std::hex << bits[3 * n] << ", " << bits[3 * n + 1] << ", "
                        << bits[3 * n + 2] << ": " << got << " for " << want[k]);
      REQUIRE(same<u16>(got, want[k], 0x7c00));
    }
  }
  const auto pairs = device.buffer<u16>(8 * count, "pairs");
  device.run("floating_packed", gfx_test::Arguments().add(in).add(pairs), shape);
  for (std::size_t n = 0; n < count; ++n) {
    for (std::size_t h = 0; h < 2; ++h) {
      const _Float16 a = values[6 * n + h], b = values[6 * n + 2 + h], c = values[6 * n + 4 + h];
      const _Float16 other = values[6 * n + 1 - h];
      INFO("half " << h << " of " << n);
      REQUIRE(same<u16>(pairs[8 * n + h], bits16(a + b), 0x7c00));
      REQUIRE(same<u16>(pairs[8 * n + 2 + h], bits16(a * b), 0x7c00));
      REQUIRE(same<u16>(pairs[8 * n + 4 + h], bits16(a - c), 0x7c00));
      REQUIRE(same<u16>(pairs[8 * n + 6 + h], bits16(other * b), 0x7c00));
    }
  }
}

TEST_CASE("pairs of f32 are two f32") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("floating", target);
  auto values = float_inputs();
  values.resize(6 * 256, 1.5F);
  const auto in = device.upload(values, "in");
  const auto out = device.buffer<float>(6 * 256, "out");
  device.run("floating_pairs", gfx_test::Arguments().add(in).add(out), {.block = {256, 1, 1}});
  for (std::size_t n = 0; n < 256; ++n) {
    for (std::size_t h = 0; h < 2; ++h) {
      const float a = values[6 * n + h], b = values[6 * n + 2 + h], c = values[6 * n + 4 + h];
      const float want[] = {a * b, a + b, std::fma(a, b, c)};
      for (std::size_t k = 0; k < 3; ++k) {
        REQUIRE(same<u32>(bits32(out[6 * n + 2 * k + h]), bits32(want[k]), 0x7f800000));
      }
    }
  }
}

TEST_CASE("transcendental operations are within one unit in the last place") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("floating", target);
  std::vector<float> values;
  gfx_test::Random random(5);
  while (values.size() < 1024) values.push_back(static_cast<float>(random.uniform(-120, 120)));
  values[0] = 0, values[1] = 1, values[2] = -126, values[3] = 127.5F;
  const auto in = device.upload(values, "in");
  const auto out = device.buffer<float>(6 * values.size(), "out");
  device.run("floating_special", gfx_test::Arguments().add(in).add(out), shape);
  for (std::size_t n = 0; n < values.size(); ++n) {
    const double a = values[n], turn = (a - std::floor(a)) * 6.283185307179586;
    const double want[] = {std::exp2(a),   std::log2(std::abs(a)),
                           1 / a,          1 / std::sqrt(std::abs(a)),
                           std::sin(turn), a - std::floor(a)};
    for (std::size_t k = 0; k < 6; ++k) {
      const double got = out[6 * n + k];
      const double unit = std::ldexp(1.0, std::ilogb(want[k] == 0 ? 1e-30 : want[k]) - 23);
      INFO("operation " << k << " of " << a << ": " << got << " for " << want[k]);
      // ilogb of an infinity is no exponent: infinities have to match in sign.
      REQUIRE((got == want[k] || (std::isfinite(want[k]) && std::abs(got - want[k]) <= unit)));
    }
  }
}

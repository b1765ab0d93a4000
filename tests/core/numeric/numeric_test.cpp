// Claims about the number formats: exact where they must be, rounded the way the kernels round.
#include <cmath>
#include <limits>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "tests/catch.hpp"

using namespace mla;

TEST_CASE("bf16: every value survives, whatever the rounding", "[numeric]") {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits)
    for (const auto rounding :
         {Bf16Rounding::nearest_even, Bf16Rounding::nearest_away, Bf16Rounding::truncate}) {
      const float value = bf16_to_float(static_cast<std::uint16_t>(bits));
      const std::uint16_t back = bf16_from_float(value, rounding);
      if (std::isnan(value)) {
        REQUIRE(std::isnan(bf16_to_float(back)));
      } else {
        REQUIRE(back == bits);
      }
    }
}

TEST_CASE("bf16: ties go to even, away, or down", "[numeric]") {
  const float tie = 1.0F + 0x1p-8F;          // between 1 and the next value
  const float odd_tie = 1.0F + 3 * 0x1p-8F;  // between an odd value and an even one
  CHECK(bf16_from_float(tie, Bf16Rounding::nearest_even) == 0x3F80);
  CHECK(bf16_from_float(odd_tie, Bf16Rounding::nearest_even) == 0x3F82);
  CHECK(bf16_from_float(tie, Bf16Rounding::nearest_away) == 0x3F81);
  CHECK(bf16_from_float(-tie, Bf16Rounding::nearest_away) == 0xBF81);
  CHECK(bf16_from_float(1.0F + 0x1.FEp-8F, Bf16Rounding::truncate) == 0x3F80);
}

TEST_CASE("fp8: both variants are exact on their 256 values and monotone between", "[numeric]") {
  for (const auto variant : {Fp8Variant::e4m3fn, Fp8Variant::e4m3fnuz}) {
    INFO(name(variant));
    for (unsigned bits = 0; bits < 256; ++bits) {
      const auto code = static_cast<std::uint8_t>(bits);
      const float value = fp8_to_float(code, variant);
      if (std::isnan(value)) {
        CHECK(fp8_from_float(value, variant) == fp8_nan(variant));
        continue;
      }
      CHECK(fp8_from_float(value, variant) == code);
    }
    CHECK(fp8_to_float(fp8_from_float(1e9F, variant), variant) == fp8_max(variant));
    CHECK(fp8_to_float(fp8_from_float(-1e9F, variant), variant) == -fp8_max(variant));
  }
}

TEST_CASE("fp8: the neighbour chosen is the nearest, ties to even", "[numeric]") {
  for (const auto variant : {Fp8Variant::e4m3fn, Fp8Variant::e4m3fnuz}) {
    const std::uint8_t last = variant == Fp8Variant::e4m3fn ? 0x7E : 0x7F;
    for (std::uint8_t code = 0; code < last; ++code) {
      const float low = fp8_to_float(code, variant);
      const float high = fp8_to_float(static_cast<std::uint8_t>(code + 1), variant);
      const float middle = 0.5F * (low + high);
      const auto even = static_cast<std::uint8_t>(code + (code & 1));
      CHECK(fp8_from_float(middle, variant) == even);
      CHECK(fp8_from_float(std::nextafter(middle, 0.0F), variant) == code);
      CHECK(fp8_from_float(std::nextafter(middle, 1e9F), variant) == code + 1);
    }
  }
}

TEST_CASE("fp8: the variants differ by their bias, their NaN and their zero", "[numeric]") {
  CHECK(fp8_to_float(0x38, Fp8Variant::e4m3fn) == 1.0F);
  CHECK(fp8_to_float(0x38, Fp8Variant::e4m3fnuz) == 0.5F);
  CHECK(std::isnan(fp8_to_float(0x80, Fp8Variant::e4m3fnuz)));
  CHECK(std::signbit(fp8_to_float(0x80, Fp8Variant::e4m3fn)));
  CHECK(fp8_from_float(-0.0F, Fp8Variant::e4m3fnuz) == 0);
}

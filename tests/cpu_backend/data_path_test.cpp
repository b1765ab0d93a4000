// Claims about the pieces of a data path: decoding, rounding and exp2, on every path.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "tests/catch.hpp"
#include "tests/cpu_backend/paths.hpp"

using namespace mla;
using namespace mla::cpu::test;
using cpu::ElementKind;

namespace {

Fp8Variant variant_of(ElementKind kind) {
  return kind == ElementKind::e4m3fn ? Fp8Variant::e4m3fn : Fp8Variant::e4m3fnuz;
}

bool same_value(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

// Probabilities of every binade down to below the smallest that counts: random ones, all fp8 and
// bf16 neighbours' midpoints, and what lies next to a midpoint.
std::vector<float> probabilities() {
  std::vector<float> p = {0.0F, 1.0F, std::nextafter(1.0F, 0.0F)};
  for (int exponent = -30; exponent < 0; ++exponent)
    for (int step = 0; step < 512; ++step) {
      const float x = std::ldexp(1.0F + static_cast<float>(step) / 512.0F, exponent);
      p.insert(p.end(), {x, std::nextafter(x, 0.0F), std::nextafter(x, 2.0F)});
    }
  p.resize((p.size() + 15) / 16 * 16, 0.25F);
  return p;
}

}  // namespace

TEST_CASE("data path: every bf16 and fp8 code decodes to the value of the number format",
          "[cpu][numeric]") {
  for (const cpu::DataPath* path : runnable_paths()) {
    INFO(path->label);
    std::vector<std::uint16_t> codes(65536);
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint16_t>(i);
    std::vector<float> values(codes.size());
    path->decode(ElementKind::bf16, reinterpret_cast<const std::byte*>(codes.data()), values.data(),
                 65536);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < codes.size(); ++i)
      wrong += same_value(values[i], bf16_to_float(codes[i])) ? 0U : 1U;
    CHECK(wrong == 0);
    for (const ElementKind kind : {ElementKind::e4m3fn, ElementKind::e4m3fnuz}) {
      std::vector<std::byte> bytes(256);
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
      path->decode(kind, bytes.data(), values.data(), 256);
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        INFO("code " << i << " of " << name(variant_of(kind)));
        const float exact = fp8_to_float(static_cast<std::uint8_t>(i), variant_of(kind));
        CHECK(same_value(values[i], exact));
      }
    }
  }
}

TEST_CASE("data path: a probability is rounded to the nearest value, ties to even",
          "[cpu][numeric]") {
  const std::vector<float> in = probabilities();
  for (const cpu::DataPath* path : runnable_paths()) {
    for (const ElementKind kind : {ElementKind::bf16, ElementKind::e4m3fn, ElementKind::e4m3fnuz}) {
      std::vector<float> out(in.size());
      path->round(kind, in.data(), out.data(), static_cast<std::int64_t>(in.size()));
      for (std::size_t i = 0; i < in.size(); ++i) {
        const float exact =
            kind == ElementKind::bf16
                ? bf16_to_float(bf16_from_float(in[i], Bf16Rounding::nearest_even))
                : fp8_to_float(fp8_from_float(in[i], variant_of(kind)), variant_of(kind));
        if (same_value(out[i], exact)) continue;
        FAIL(path->label << " rounds " << in[i] << " to " << out[i] << ", not " << exact);
      }
    }
  }
}

TEST_CASE("data path: a NaN probability stays NaN in every format", "[cpu][numeric]") {
  const std::vector<float> in(16, std::numeric_limits<float>::quiet_NaN());
  for (const cpu::DataPath* path : runnable_paths())
    for (const ElementKind kind : {ElementKind::bf16, ElementKind::e4m3fn, ElementKind::e4m3fnuz}) {
      std::vector<float> out(16);
      path->round(kind, in.data(), out.data(), 16);
      CHECK(std::isnan(out[0]));
    }
}

TEST_CASE("data path: exp2 keeps the error that the bound allows it", "[cpu][numeric]") {
  std::vector<float> in;
  for (std::int64_t i = 0; i < (1 << 20); ++i)
    in.push_back(-126.0F * static_cast<float>(i) / static_cast<float>(1 << 20));
  for (std::int64_t i = 0; i < (1 << 12); ++i)
    in.push_back(-std::ldexp(1.0F, -static_cast<int>(i % 120)));
  for (const cpu::DataPath* path : runnable_paths()) {
    std::vector<float> out(in.size());
    path->exp2(in.data(), out.data(), static_cast<std::int64_t>(in.size()));
    double worst = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double exact = std::exp2(static_cast<double>(in[i]));
      worst = std::max(worst, std::fabs(static_cast<double>(out[i]) - exact) / exact);
    }
    INFO(path->label << ": largest relative error 2^" << std::log2(worst));
    CHECK(worst <= cpu::kExp2Error);
  }
}

TEST_CASE("data path: exp2 is 1 at 0, 0 far below, and NaN at NaN", "[cpu][numeric]") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> in(16, -kInfinity);
  in[0] = 0.0F;
  in[1] = -126.5F;
  in[2] = -1e30F;
  in[3] = std::numeric_limits<float>::quiet_NaN();
  for (const cpu::DataPath* path : runnable_paths()) {
    std::vector<float> out(16);
    path->exp2(in.data(), out.data(), 16);
    CHECK(out[0] == 1.0F);
    CHECK(out[1] == 0.0F);
    CHECK(out[2] == 0.0F);
    CHECK(std::isnan(out[3]));
    CHECK(out[4] == 0.0F);
  }
}

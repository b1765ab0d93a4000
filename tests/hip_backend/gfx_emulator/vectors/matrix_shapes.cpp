#include "matrix.hpp"

#include <map>

namespace gfx_test {
namespace {

using mla::gfx::Arch;

const std::vector<double> small = {0, 1, -1, 2, -3, 0.5, -1.5, 6};

ElementFormat of_float() {
  ElementFormat out{32, [](u32 bits) { return static_cast<double>(float_of(bits)); }, {}};
  for (const double x : small) out.choices.push_back(bits_of(static_cast<float>(x)));
  return out;
}
ElementFormat of_half() {
  ElementFormat out{16, [](u32 bits) { return value_of(Half{static_cast<u16>(bits)}); }, {}};
  for (const double x : small) out.choices.push_back(half_of(x).bits);
  return out;
}
ElementFormat of_brain() {
  ElementFormat out{16, brain_value, {}};
  for (const double x : small) out.choices.push_back(brain_of(x));
  return out;
}
ElementFormat of_integer() {
  ElementFormat out{8, [](u32 bits) { return bits >= 128 ? bits - 256.0 : bits; }, {}};
  for (u32 bits = 0; bits < 256; ++bits) out.choices.push_back(bits);
  return out;
}
ElementFormat of_byte(const Byte& format) {
  ElementFormat out{8, [format](u32 bits) { return byte_value(bits, format); }, {}};
  for (const double x : small) out.choices.push_back(byte_of(x, format, false));
  return out;
}
ElementFormat of_small(int exponent_bits, int fraction_bits) {
  const auto size = static_cast<unsigned>(1 + exponent_bits + fraction_bits);
  ElementFormat out{
      size, [=](u32 bits) { return small_value(bits, exponent_bits, fraction_bits); }, {}};
  for (u32 bits = 0; bits < 1U << size; ++bits) out.choices.push_back(bits);
  return out;
}

void add(std::vector<NamedShape>& out, const std::string& result, const std::string& type,
         const ElementFormat& format, const std::vector<std::array<unsigned, 3>>& sizes) {
  for (const auto& [m, k, blocks] : sizes) {
    const std::string many = blocks > 1 ? "_" + std::to_string(blocks) + "b" : "";
    const std::string size = std::to_string(m) + "x" + std::to_string(m) + "x" + std::to_string(k);
    out.push_back({"v_mfma_" + result + "_" + size + many + "_" + type,
                   {m, k, blocks, format, format, result == "i32"}});
  }
}

}  // namespace

std::vector<NamedShape> matrix_shapes(Arch arch) {
  const bool fnuz = arch == Arch::gfx942;
  std::vector<NamedShape> out;
  add(out, "f32", "f32", of_float(), {{32, 1, 2}, {16, 1, 4}, {4, 1, 16}, {32, 2, 1}, {16, 4, 1}});
  add(out, "f32", "xf32", of_float(), {{16, 8, 1}, {32, 4, 1}});
  for (const bool half : {true, false}) {
    add(out, "f32", half ? "f16" : "bf16", half ? of_half() : of_brain(),
        {{32, 4, 2}, {16, 4, 4}, {4, 4, 16}, {32, 8, 1}, {16, 16, 1}, {16, 32, 1}, {32, 16, 1}});
  }
  add(out, "i32", "i8", of_integer(),
      {{32, 4, 2}, {16, 4, 4}, {4, 4, 16}, {32, 16, 1}, {16, 32, 1}, {16, 64, 1}, {32, 32, 1}});
  const ElementFormat four = of_byte(fnuz ? fp8_fnuz : fp8_ocp);
  const ElementFormat five = of_byte(fnuz ? bf8_fnuz : bf8_ocp);
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      const std::string type = std::string(a ? "bf8" : "fp8") + (b ? "_bf8" : "_fp8");
      for (const unsigned m : {16U, 32U}) {
        const unsigned k = 512 / m;
        out.push_back({"v_mfma_f32_" + std::to_string(m) + "x" + std::to_string(m) + "x" +
                           std::to_string(k) + "_" + type,
                       {m, k, 1, a ? five : four, b ? five : four}});
      }
    }
  }
  return out;
}

std::vector<NamedShape> sparse_shapes(Arch arch) {
  const bool fnuz = arch == Arch::gfx942;
  const std::map<std::string, ElementFormat> formats = {
      {"f16", of_half()},
      {"bf16", of_brain()},
      {"i8", of_integer()},
      {"fp8", of_byte(fnuz ? fp8_fnuz : fp8_ocp)},
      {"bf8", of_byte(fnuz ? bf8_fnuz : bf8_ocp)}};
  std::vector<NamedShape> out;
  for (const auto& [a, b] : std::vector<std::array<std::string, 2>>{{"f16", "f16"},
                                                                    {"bf16", "bf16"},
                                                                    {"i8", "i8"},
                                                                    {"fp8", "fp8"},
                                                                    {"fp8", "bf8"},
                                                                    {"bf8", "fp8"},
                                                                    {"bf8", "bf8"}}) {
    const ElementFormat& left = formats.at(a);
    const bool integer = a == "i8";
    const std::string type = left.bits == 8 && !integer ? a + "_" + b : a;
    for (const unsigned m : {16U, 32U}) {
      for (const unsigned registers : {4U, 8U}) {  // of B
        const unsigned k = registers * 32 / left.bits * 64 / m;
        const std::string size = std::to_string(m) + "x" + std::to_string(m) + "x";
        out.push_back({std::string("v_smfmac_") + (integer ? "i32_" : "f32_") + size +
                           std::to_string(k) + "_" + type,
                       {m, k, 1, left, formats.at(b), integer}});
      }
    }
  }
  return out;
}

std::vector<ElementFormat> f8f6f4_formats() {
  return {of_byte(fp8_ocp), of_byte(bf8_ocp), of_small(2, 3), of_small(3, 2), of_small(2, 1)};
}

}  // namespace gfx_test

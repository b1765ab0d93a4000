// Owns: the shapes and source formats of the matrix instructions.
#pragma once

#include <functional>

#include "numbers.hpp"
#include "vector.hpp"

namespace gfx_test {

// Elements of a source: their size, what their bits are worth, and bits whose products add up
// without rounding.
struct ElementFormat {
  unsigned bits = 32;
  std::function<double(u32)> value;
  std::vector<u32> choices;
};

struct MatrixShape {
  unsigned m = 0, k = 0, blocks = 1;
  ElementFormat a, b;
  bool integer = false;
  unsigned cbsz = 0, blgp = 0;  // of f8f6f4: the formats
  [[nodiscard]] unsigned words_a() const { return m * k * blocks / 64 * a.bits / 32; }
  [[nodiscard]] unsigned words_b() const { return m * k * blocks / 64 * b.bits / 32; }
};

struct NamedShape {
  std::string name;
  MatrixShape shape;
};
// All but f64 and f8f6f4.
[[nodiscard]] std::vector<NamedShape> matrix_shapes(mla::gfx::Arch arch);
// v_smfmac_*. All of them; which there are, the architecture says.
[[nodiscard]] std::vector<NamedShape> sparse_shapes(mla::gfx::Arch arch);
// e4m3, e5m2, e2m3, e3m2, e2m1, as CBSZ and BLGP count them.
[[nodiscard]] std::vector<ElementFormat> f8f6f4_formats();

}  // namespace gfx_test

// Owns: one fused step of a CDNA3 matrix instruction, bit by bit.
//
// The model is the one published as MMA-Sim (arXiv 2511.10909), where it agreed with an MI300X on
// every tested input. The products of one step are exact; each is cut towards zero at 24 fraction
// bits below the largest product exponent, and the cut products are summed exactly. The sum is then
// cut downwards at 31 fraction bits, and the accumulator downwards at 24, both below the larger of
// the two exponents; their sum is rounded once, to nearest even. 8-bit floats sum the even and the
// odd products apart, cut both downwards at 24 bits, and lose an accumulator that lies more than 25
// exponents below.
#pragma once

#include <cstddef>

namespace mla::gfx {

enum class ExactKind { wide, fp8 };

// a[k * a_stride] * b[k * b_stride] for k < count, onto c. `lowest` is the exponent of the smallest
// normal number of the source formats.
struct ExactStep {
  const float* a;
  std::size_t a_stride;
  const float* b;
  std::size_t b_stride;
  unsigned count;
  int lowest_a, lowest_b;
  ExactKind kind;
};
[[nodiscard]] float exact_step(const ExactStep& step, float c);

}  // namespace mla::gfx

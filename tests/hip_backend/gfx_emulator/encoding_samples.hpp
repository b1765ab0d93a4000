// Owns: words of every operation number of every encoding, with the operands and modifiers that
// tell them apart. They know nothing of the tables under test: numbers without an operation are
// among them, and a disassembler says which.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace gfx_test {

// The words of one instruction, and no operations after it.
using EncodingSample = std::array<std::uint32_t, 4>;

[[nodiscard]] std::vector<EncodingSample> encoding_samples();

}  // namespace gfx_test

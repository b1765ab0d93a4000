// Claims about tensors as the prefill kernels take them.
#include "core/engine/prefill/operands.hpp"

#include "tests/catch.hpp"

using namespace mla;
using namespace mla::prefill;

TEST_CASE("prefill operands: a bf16 tensor has as many rows as its elements make", "[prefill]") {
  const std::vector<std::uint16_t> bits(6 * 3 * kQkDim);
  CHECK(bf16_operand(bits, 3, kQkDim).rows == 6);  // what a flash kernel holds its ranges against
  CHECK(bf16_operand(bits, 6, kQkDim).rows == 3);
  CHECK(bf16_operand({}, 3, kQkDim).rows == 0);
}

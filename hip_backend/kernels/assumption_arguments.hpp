// What the kernels of assumptions.hip take; shared with the host.
#pragma once

namespace mla::hip {

constexpr int kAssumptionWords = 16;  // dwords of input and of output for each of the 64 lanes

struct AssumptionArguments {
  const unsigned* in;
  unsigned* out;
};

}  // namespace mla::hip

// Owns: what kernels print. Memory that their packets go to, and the text that printf of a host
// would have made of them. Private to hip_runtime.
#pragma once

#include <string>
#include <vector>

#include "hip_backend/gfx_emulator/load.hpp"

namespace mla::hip_runtime {

// Gives the object's printf and assert their memory, if it has any. An error if the system has
// none.
[[nodiscard]] MaybeError prepare_printing(const gfx::CodeObject& object);

struct Printed {
  std::string text;                     // of printf, in the order in which the waves called it
  std::vector<std::string> assertions;  // that did not hold, a sentence each
};
// What was printed since the last call. Memory for more than 1 GiB of packets is never given; what
// did not fit is counted in the text.
[[nodiscard]] Printed take_printed();

}  // namespace mla::hip_runtime

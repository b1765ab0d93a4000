// The planners that AITER has. Source: AITER csrc/kernels/mla/metadata; spec aiter.md 3.
#pragma once

#include <cstdint>

namespace mla::plan {

enum class PlannerVersion : std::uint8_t { v1_0, v1_1, v1_2 };

// Which of the two v1.2 kernels runs. `automatic` follows the original's predicate.
enum class V12Kernel : std::uint8_t { automatic, serial, parallel };

}  // namespace mla::plan

// The core's roundings to bf16 as the numbers that kernels know. Private to the HIP backend.
#pragma once

#include "core/numeric/bf16.hpp"
#include "hip_backend/kernels/arguments.hpp"

namespace mla::hip {

constexpr int rounding_number(Bf16Rounding rounding) {
  switch (rounding) {
    case Bf16Rounding::nearest_even:
      return kRoundEven;
    case Bf16Rounding::nearest_away:
      return kRoundAway;
    case Bf16Rounding::truncate:
      break;
  }
  return kRoundTruncate;
}

}  // namespace mla::hip

// How far the intermediate results of a step may be off: for each row that a work of stage 1
// writes, the bounds of the dense reference over the keys that the row sees in this work.
//
// A partial result is attention over fewer keys, so the derivation of docs/reference/numerics.md
// holds for it as it is; the final cast that it allows for is one that partials do not make.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "core/engine/backend.hpp"

namespace mla::cpu {

struct RowBounds {
  bool partial = false;  // a row of the partial buffers, or a kernel row of the output
  std::int64_t row = 0;
  std::span<const double> out;  // [kernel heads, value]
  std::span<const double> lse;  // [kernel heads]
};

// Calls `look` for each row of each sound work, a few of them in memory at a time. The launch has
// passed check_launch().
void for_stage_bounds(const DecodeLaunch& launch,
                      const std::function<void(const RowBounds& bounds)>& look);

}  // namespace mla::cpu

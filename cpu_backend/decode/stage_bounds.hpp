// How far the intermediate results of a step may be off: for each element that stage 1 writes, the
// bound of the dense reference over the keys of the work that writes it.
//
// A partial result is attention over fewer keys, so the derivation of docs/numerics.md holds for it
// as it is; the final cast that it allows for is one that partials do not make. Layouts as the
// buffers of DecodeResult. An element that no sound work writes has the bound 0.
#pragma once

#include <vector>

#include "core/engine/backend.hpp"

namespace mla::cpu {

struct StageBounds {
  std::vector<double> partial_out;  // [partial rows, kernel heads, 512]
  std::vector<double> partial_lse;  // [partial rows, kernel heads]
  std::vector<double> stage1_out;   // [kernel rows, kernel heads, 512]
  std::vector<double> stage1_lse;   // [kernel rows, kernel heads]
};

// `partial_rows` as many as the partial buffers have. The launch has passed check_launch().
StageBounds stage_bounds(const DecodeLaunch& launch, std::int64_t partial_rows);

}  // namespace mla::cpu

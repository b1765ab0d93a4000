// The dense reference of a sample of (row, head) pairs, for steps that are too large for all.
//
// A pair that is not evaluated has value 0, LSE 0 and the bound kNotEvaluated: whatever is finite
// is within it. Rows that see no key are always evaluated. Keys are streamed: memory is the
// result's and a few MB, whatever the context.
#pragma once

#include <algorithm>
#include <limits>
#include <span>

#include "cpu_backend/decode/reference.hpp"

namespace mla::cpu {

inline constexpr double kNotEvaluated = std::numeric_limits<double>::max();

// Pairs (row * heads + head), ascending; empty: all of the step.
using Pairs = std::span<const std::int64_t>;

inline bool has_pair(Pairs pairs, std::int64_t pair) {
  return pairs.empty() || std::binary_search(pairs.begin(), pairs.end(), pair);
}

ReferenceResult sampled_reference(const ReferenceInput& input, Pairs pairs);

}  // namespace mla::cpu

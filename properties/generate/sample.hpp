// The sample: which (row, head) pairs of a case are held to the float64 reference.
//
// All of them where that costs at most kReferenceCost (cost.hpp). Otherwise a grid of rows and
// heads in each of some requests: the shortest and the longest, the first and the last, live and
// padded, those beside powers of two, then others; in each the first and last row and head, the
// heads beside a fold of 16 and other rows. A function of the case and of nothing else: a replay
// judges the same pairs. The longest request is always in it, whatever it costs.
#pragma once

#include <span>
#include <vector>

#include "core/case/case.hpp"

namespace mla::prop {

// Pairs (row * heads + head), ascending; empty: all. `requests` are those of the step in the order
// of their rows, padding included.
std::vector<std::int64_t> sampled_pairs(const Case& c, std::span<const RequestSpec> requests);

}  // namespace mla::prop

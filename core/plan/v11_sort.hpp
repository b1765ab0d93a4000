// The order in which planner v1.1 takes requests: its in-wave sorting network, swap for swap.
//
// Owns: one permutation. One wave of 64 lanes does the work of several groups of 64 threads and
// lets each group finish all strides of a stage before the next begins, so beyond 128 padded
// entries the stages read what others have not yet exchanged: the result is a permutation that is
// not always sorted, and ties are not stable. Source: spec aiter.md 3.3. Padding can
// end up among the first `costs.size()` places, where the result is then an index >= costs.size().
#pragma once

#include <cstdint>
#include <vector>

namespace mla::plan {

// Indices of `costs`, most expensive first, as the network leaves them.
std::vector<std::int64_t> v11_order(const std::vector<std::int64_t>& costs);

// Entries that the network works on: the next power of two, at least one wave.
std::int64_t v11_padded(std::int64_t count);

}  // namespace mla::plan

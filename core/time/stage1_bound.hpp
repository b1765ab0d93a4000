// A lower bound on the predicted time of stage 1, over every plan that the kernels accept.
//
// makespan_bound.hpp takes each slot for itself; this one also counts that all share the device's
// memory and matrix units, by the formula of predict.hpp. Times are predicted microseconds, keys
// those that works load, in whole loads of the kernel.
//
// Theorem. Let tile i need n_i >= 1 loads, and a work of m loads cost o and m loads. Let a slot
// with p works and k loads take p o + hypot(k a, g G(k)), where G(k) = sum over slots j of min(k_j,
// k). Let there be S slots, at most K works a tile, and N = sum n_i > 0. If some plan ends by time
// T, then
//     (1) hypot(a, g N) <= T - o, and with q = floor(sqrt((T - o)^2 - (g N)^2) / a):
//     (2) N <= S q, (3) p_i = ceil(n_i / q) <= K,
//     (4) sum p_i o + N hypot(a, g N / q) <= S T.
// Proof. Let N' >= N be what a plan loads (cuts may add to N), and k' the most of a slot, k' >= 1.
// For that slot G(k') = N', so T >= o + hypot(k' a, g N'). As k' >= 1 this is (1), and solved for
// k' it says k' <= q: the slots hold at most S q, which is (2), and no work has more than q loads,
// so that tile i has p_i works or more: (3). G is concave with G(0) = 0 and G(k') = N', so that
// G(k) >= k N' / k' for k <= k', and the slot with k loads takes at least p o + k hypot(a, g N' /
// k') >= p o + k hypot(a, g N / q). The sum over all slots is at most S T: (4).
// As T grows, q grows, p_i and the sum shrink: (1) to (4) hold for every larger T, too. The least T
// is found by halving, and what is returned lies below it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/time/predict.hpp"
#include "core/time/step_load.hpp"

namespace mla::timing {

struct Stage1Query {
  std::vector<std::int64_t> tile_loads = {};  // of each tile, 1 or more
  std::int64_t slots = 1;
  std::int64_t most_pieces = 0;  // works of a tile; 0: no limit
  double piece_us = 0;           // o
  double load_us = 0;            // a, above 0
  double shared_us = 0;          // g
};

// 0 without tiles.
double stage1_bound(const Stage1Query& query);

// Of the batch of a step, whatever its plan, at the costs of `tile`: each request in as few tiles
// as the kernel allows, at the keys that its first row sees, since each tile has a row that sees no
// fewer. A request whose first row sees none is left out.
double stage1_bound_us(const PlannedStep& step, const TimeConstants& constants,
                       const TileCost& tile);

}  // namespace mla::timing

// A lower bound on the time of the slowest slot, over every plan that the kernels accept.
//
// A plan cuts each tile (rows of one request that a workgroup holds together) into works of whole
// blocks of keys, and gives each work to one slot, which runs its works one after the other.
// Costs are whole numbers of any unit of time.
//
// Theorem. Let tile i have n_i blocks; let a work of m blocks cost o + m c; let there be S slots,
// and at most K works a tile. If some plan ends by time T, then o <= T, and with
// q = floor((T - o) / c) and p_i = max(1, ceil(n_i / q)):
//     (1) q >= 1 if some n_i > 0,   (2) p_i <= K,
//     (3) sum n_i <= S q,           (4) sum (p_i o + n_i c) <= S T.
// Proof. A slot that runs a work has paid o at least once: all its works hold at most q blocks,
// which is (1) and, over S slots, (3). So no work has more than q blocks, and tile i has at least
// p_i works: (2). Together the works cost at least sum (p_i o + n_i c), and S slots have S T: (4).
// As T grows, q grows and p_i shrinks, so that (1) to (4) hold for every larger T, too. The least
// T for which they hold is found by halving, and no plan ends before it.
//
// For a single tile a plan reaches it: by (3) n <= S q, so p = ceil(n / q) works of at most q
// blocks fit on p <= S slots, one each, and by (2) the kernels take them; each ends by o + q c <=
// T. For several tiles the slots may not fill up: the bound may lie below the best plan.
// tests/core/time/makespan_bound_test.cpp holds both against all plans.
#pragma once

#include <cstdint>
#include <vector>

namespace mla::timing {

struct MakespanQuery {
  std::vector<std::int64_t> tile_blocks = {};  // of each tile that has rows and keys
  std::int64_t slots = 1;
  std::int64_t most_pieces = 0;  // works of a tile; 0: no limit
  std::int64_t piece_cost = 0;   // o
  std::int64_t block_cost = 1;   // c, at least 1
};

// 0 without tiles. There is always a plan: one work a tile.
std::int64_t makespan_bound(const MakespanQuery& query);

}  // namespace mla::timing

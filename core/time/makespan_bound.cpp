#include "core/time/makespan_bound.hpp"

#include <algorithm>
#include <cassert>

#include "core/units.hpp"

namespace mla::timing {
namespace {

// (1) to (4) of the theorem.
bool may_end_by(const MakespanQuery& query, std::int64_t time) {
  if (time < query.piece_cost) return false;
  const std::int64_t most = (time - query.piece_cost) / query.block_cost;
  std::int64_t blocks = 0;
  std::int64_t pieces = 0;
  for (const std::int64_t n : query.tile_blocks) {
    if (n > 0 && most == 0) return false;
    const std::int64_t own = n > 0 ? ceil_div(n, most) : 1;
    if (query.most_pieces > 0 && own > query.most_pieces) return false;
    blocks += n;
    pieces += own;
  }
  return blocks <= query.slots * most &&
         pieces * query.piece_cost + blocks * query.block_cost <= query.slots * time;
}

}  // namespace

std::int64_t makespan_bound(const MakespanQuery& query) {
  assert(query.slots > 0 && query.block_cost > 0);
  if (query.tile_blocks.empty()) return 0;
  std::int64_t low = -1;  // no plan ends by it
  std::int64_t high = 0;  // that of one slot that runs every tile whole
  for (const std::int64_t n : query.tile_blocks) high += query.piece_cost + n * query.block_cost;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (may_end_by(query, middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace mla::timing

// The planning requests of planner v1.1, the limit of a slot, and what v1.1 cannot digest.
//
// Owns: `V11Request`, one planning request (a request, a folded copy of it, or a row of it when
// sparse), with the tiles of its query; the cost limit of a slot. Source: spec aiter.md 3.3. Units
// in the field comments; a packed row is one (row, head) pair. Fails: input on which the original
// divides by zero, runs out of scratch memory, or plans ranges that end before they begin.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/planner.hpp"

namespace mla::plan {

struct V11Request {
  std::int64_t index = 0;          // among the planning requests
  std::int64_t request = 0;        // of the batch
  std::int64_t qo_len = 0;         // rows
  std::int64_t listed_qo_len = 0;  // rows by qo_indptr; the sort and the average read these
  std::int64_t q_begin = 0;        // rows
  std::int64_t kv_begin = 0;       // pages, by kv_indptr
  std::int64_t pages = 0;
  std::int64_t tiles = 0;
  std::int64_t tile_rows = 0;
  std::int64_t packed_tile_rows = 0;  // packed rows of a tile
  std::int64_t first_tile = 0;        // tiles of the requests before
};

// Pages that tile `tile` may see; below 1 for an early tile of a request shorter than its query.
std::int64_t v11_visible_pages(const PlanInput& input, const PlanShape& shape,
                               const V11Request& request, std::int64_t tile);

struct V11Requests {
  std::vector<V11Request> list;
  std::int64_t tiles = 0;
  std::int64_t cost_limit = 0;  // of one slot
};

Result<V11Requests> v11_requests(const PlanInput& input, const PlanShape& shape);

// Cost of a piece, and the pages that a cost leaves room for.
constexpr std::int64_t v11_cost(std::int64_t packed_rows, std::int64_t pages) {
  return 2 * packed_rows + pages;
}
constexpr std::int64_t v11_pages(std::int64_t cost, std::int64_t packed_rows) {
  return cost - 2 * packed_rows;
}

}  // namespace mla::plan

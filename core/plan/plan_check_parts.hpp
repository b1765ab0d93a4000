// The parts of plan_check, in the order in which they run. Private to core/plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/plan_check_input.hpp"

namespace mla::plan::check {

// A work that may be looked at: its record is inside all bounds.
struct Piece {
  WorkItem item;
  std::int64_t index = 0;
};

// Rows [q_begin, q_end) of one planning request and the pieces that cover its keys, in KV order.
struct Tile {
  std::int64_t request = 0;  // folded index
  std::int64_t q_begin = 0;
  std::int64_t q_end = 0;
  std::vector<Piece> pieces;
};

using Violations = std::vector<Violation>;

// Number of works, after checking work_indptr; the first part, and the last where it finds much.
std::int64_t check_work_indptr(const PlanCheckInput& input, Violations& out);
void check_query_lengths(const PlanCheckInput& input, Violations& out);
std::vector<Piece> check_records(const PlanCheckInput& input,
                                 const std::vector<PlanningRequest>& requests, std::int64_t works,
                                 Violations& out);
void check_empty_works(const PlanCheckInput& input, Violations& out);
std::vector<Tile> group_tiles(const std::vector<Piece>& pieces);
void check_coverage(const PlanCheckInput& input, const std::vector<PlanningRequest>& requests,
                    const std::vector<Tile>& tiles, Violations& out);
void check_rows(const std::vector<PlanningRequest>& requests, const std::vector<Tile>& tiles,
                Violations& out);
void check_partial_rows(const PlanCheckInput& input, const std::vector<Tile>& tiles,
                        Violations& out);
void check_reduce(const PlanCheckInput& input, const std::vector<Tile>& tiles, Violations& out);

// A word of a buffer, as a report says it: the number, or "unwritten".
std::string shown(std::int64_t n);
// "work 3 [request 1, rows 4..8, pages 0..64]"
std::string describe(const Piece& piece);

}  // namespace mla::plan::check

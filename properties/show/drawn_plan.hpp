// DrawnPlan: a plan as the pictures need it: works on slots, pieces of requests, merges, buffers.
//
// Owns the way from six buffers, which may hold anything, to lists that are safe to draw: every
// index is inside of its list, every length is 0 or more. What cannot be placed is kept and said.
// Units: kernel rows, pages and keys (tokens) as named; keys of a work are counted from the first
// key of its request. The batch's own lists must be sound (check_lists()).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/plan_check.hpp"
#include "core/plan/ps_check.hpp"

namespace mla::show {

struct Work {
  std::int64_t index = 0;  // in work_info_set
  plan::WorkItem record;
  std::int64_t slot = -1;     // -1: the record is in no slot's run
  std::int64_t request = -1;  // planning request; -1: the record names none
  std::int64_t head = 0;      // its first query head, of a prefill plan
  std::int64_t key_begin = 0;
  std::int64_t key_end = 0;   // at least key_begin
  std::int64_t finding = -1;  // the first that names it
  [[nodiscard]] bool wrong() const { return finding >= 0; }
  [[nodiscard]] std::int64_t keys() const { return key_end - key_begin; }
};

struct Tile {  // one entry of reduce_indptr with pieces
  std::int64_t index = 0;
  std::int64_t row_begin = 0;
  std::int64_t row_end = 0;
  std::vector<std::int32_t> partial_rows;  // as reduce_partial_map has them
  std::vector<std::int64_t> works;         // that wrote them; -1: no work did
};

struct Buffer {
  std::string name;
  std::int64_t capacity = 0;  // int32
  std::int64_t used = 0;      // that a kernel reads
};

struct Finding {
  std::string rule;
  std::string what;
  std::int64_t work = -1;
};

// What planner v1.2 promises a slot (aiter.md 3.2), in blocks of `granularity` pages.
struct Share {
  std::int64_t overhead = 0;  // that every work costs
  std::int64_t payload = 0;   // of a slot, overheads included
  std::int64_t tail = 0;      // that a last piece may take beyond it
  std::int64_t granularity = 1;
};

struct DrawnPlan {
  std::string title;  // a case line, or the name of a dump; foreign text
  std::vector<std::pair<std::string, std::string>> facts;
  std::string predicted;  // its time, in words; empty: nothing is said of it
  std::vector<Finding> findings;

  std::vector<plan::PlanningRequest> requests;
  std::int64_t fold = 1;        // planning requests of a request
  std::int64_t work_heads = 0;  // query heads of a work of a prefill plan; 0: a work has all
  std::int64_t page_size = 1;
  bool causal = true;
  std::vector<Work> works;  // in the order of work_info_set
  std::int64_t slots = 0;
  std::vector<Tile> tiles;  // those with pieces
  std::vector<Buffer> buffers;
  std::int64_t unplaced = 0;        // works of the list that no slot runs
  Share share;                      // payload 0: no promise is known
  std::vector<std::int32_t> pages;  // kv_indices, the live part; empty: not known

  // "request 3", or "request 1 group 2" where heads are folded.
  [[nodiscard]] std::string request_name(std::int64_t planning_request) const;
  // That of the work's request, and which of its heads: "request 3 head 5".
  [[nodiscard]] std::string work_name(const Work& work) const;
  // One past the last key that kernel row `row` of the request sees.
  [[nodiscard]] std::int64_t visible(const plan::PlanningRequest& request, std::int64_t row) const;
  // Blocks of a work, its overhead included.
  [[nodiscard]] std::int64_t blocks(const Work& work) const;
};

struct PlannerPromise {
  bool known = false;  // planner v1.2
  std::int64_t granularity = 16;
  std::int64_t max_split = -1;
};

// `findings` mark their works, up to kMostMarked of them.
inline constexpr std::int64_t kMostMarked = 300;
DrawnPlan draw_plan(const plan::PlanCheckInput& input, const PlannerPromise& promise,
                    std::vector<Finding> findings);

// The plan of a prefill step. A block is `granularity` pages.
DrawnPlan draw_prefill_plan(const plan::PsCheckInput& input, std::int64_t granularity,
                            std::vector<Finding> findings);

}  // namespace mla::show

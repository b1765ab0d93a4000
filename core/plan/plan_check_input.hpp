// What plan_check is asked, and what it answers. Units as in plan.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/plan/plan.hpp"
#include "core/shape/plan_shape.hpp"

namespace mla::plan {

enum class Rule : std::uint8_t {
  work_indptr,    // starts at 0, never runs backwards, ends at or below the buffer
  max_qo_len,     // no request has more rows
  work_record,    // request, rows, pages and offset of a work lie where they may
  empty_work,     // a work without keys or rows ends its slot and writes nothing: no other is lost
  coverage,       // the pieces of a tile cover its visible keys once, in order
  hidden_rows,    // a row that sees a key sees one of every piece of its tile (BUG-012)
  row_written,    // every row with keys belongs to exactly one tile
  partial_rows,   // slabs of partial rows do not overlap and fit
  reduce_list,    // every split tile is merged from exactly its pieces
  reduce_indptr,  // starts at 0, never runs backwards, stays inside reduce_partial_map
};
std::string_view name(Rule rule);

struct Violation {
  Rule rule = Rule::work_record;
  std::string what;        // a sentence with the values
  std::int64_t work = -1;  // index in work_info_set, or -1
};

// The keys of a rank's requests among those of all ranks, dealt out one by one: local key j is key
// j * ranks + rank of its request, and a row sees the keys before its own (aiter.md 6).
struct DealtKeys {
  std::int64_t ranks = 0;  // 0: not known, and nothing is said of what a row sees
  std::int64_t rank = 0;
  // [batch + 1] running keys of all ranks, as a kernel gets them. Empty: not known; then as many as
  // the local ones allow, so that what is a violation is one for every number.
  std::span<const std::int32_t> global_kv_indptr;
};

struct PlanCheckInput {
  PlanView plan;
  std::span<const std::int32_t> qo_indptr;      // [batch + 1] rows of the requests, not folded
  std::span<const std::int32_t> kv_indptr;      // [batch + 1] pages
  std::span<const std::int32_t> last_page_len;  // [batch] tokens
  PlanShape shape;                              // fold ratio and heads of the kernel
  bool causal = true;
  bool cp_round_robin = false;  // planned for a rank: no tile is trimmed to what its rows see
  DealtKeys dealt{};            // with cp_round_robin
  bool kernel_masks = true;     // false: a tile may cover no key that its rows must not see
  std::int64_t page_size = 1;
  std::int64_t max_qo_len = 1;    // rows; sizes the partial buffers
  std::int64_t most_pieces = -1;  // of a tile that the reduce has room for (aiter.md 7); -1: any
};

// Rows and keys of one planning request, folded as the kernel sees it.
struct PlanningRequest {
  std::int64_t q_begin = 0;  // kernel rows
  std::int64_t q_end = 0;
  std::int64_t kv_begin = 0;  // pages
  std::int64_t kv_end = 0;
  std::int64_t tokens = 0;  // keys of the request
  std::int64_t global = 0;  // those of all ranks; `tokens` where there is one
};

}  // namespace mla::plan

// The planning requests of v1.2: what the serial planner walks over.
//
// Owns: `Entry`, one planning request: a request of the batch, one of its folded copies (as many as
// shape.fold_ratio, in a row), or one query row of it when sparse. Every index the original derives
// for it is derived here, out-of-range ones included. Source: spec aiter.md 3.2, step 2. Units in
// the field comments; KV positions are pages, counted from the batch's first. Fails: the places
// where the original reads out of range, divides by zero or plans a wrong range.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/planner.hpp"

namespace mla::plan {

struct Entry {
  std::int64_t index = 0;     // among the entries
  std::int64_t request = 0;   // of the batch
  std::int64_t batch = 0;     // word 0 of its work items
  std::int64_t qo_len = 0;    // rows
  std::int64_t q_begin = 0;   // rows
  std::int64_t q_end = 0;     // rows
  std::int64_t kv_begin = 0;  // pages
  std::int64_t kv_end = 0;    // pages
  std::int64_t tiles = 1;
  std::int64_t tile_rows = 0;      // rows of each tile but the last
  std::int64_t last_page_len = 0;  // tokens; read when page_size > 1
  std::int64_t rows_after = 0;     // sparse: draft rows of the request behind this one
  [[nodiscard]] std::int64_t pages() const { return kv_end - kv_begin; }
};

struct Entries {
  std::vector<Entry> list;
  std::int64_t demand = 0;  // KV blocks of all tiles, the overhead of each tile included
};

Result<Entries> v12_entries(const PlanInput& input, const PlanShape& shape);

// Tokens at the end of the request that the original leaves out of tile `tile`, whose rows cannot
// see them (page_size 1).
std::int64_t causal_trim(const PlanInput& input, const PlanShape& shape, const Entry& entry,
                         std::int64_t tile);

}  // namespace mla::plan

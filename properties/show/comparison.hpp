// Comparison: two plans side by side: what differs, and what it costs.
//
// A work of one plan is the work of the other that has the same request, the same rows of it and
// the same keys. Plans of different batches are compared request by request in their order; the
// comparison says so. Costs are in the planner's units: blocks of keys, each work with its
// overhead, both plans in blocks of the first. Pure functions; nothing depends on time or machine.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/row_widths.hpp"
#include "properties/show/drawn_plan.hpp"

namespace mla::show {

// The rule of a finding that says no more than that the other plan is different.
inline constexpr const char* kDiffersRule = "differs";

struct ComparedPlan {
  DrawnPlan plan;
  std::int64_t heads = 16;  // of a kernel row
  ValueDims value = kBuiltIn.value();
};

struct PlanCost {
  std::int64_t works = 0;
  std::int64_t slots = 0;
  std::int64_t busy = 0;          // slots with work
  std::int64_t busiest = 0;       // blocks of the slot that has most: the others wait for it
  std::int64_t blocks = 0;        // of all slots
  std::int64_t keys = 0;          // that works read, each time they do
  std::int64_t merges = 0;        // output tiles that are merged from pieces
  std::int64_t partial_rows = 0;  // that merges read
  std::int64_t traffic = 0;       // bytes of float32 rows and LSE, written once and read once
  // Blocks of the busiest slot over the mean of all slots: 1 is even.
  [[nodiscard]] double imbalance() const;
};

struct SplitChange {
  std::int64_t request = 0;           // planning request
  std::vector<std::int64_t> cuts[2];  // keys at which a piece begins, the first piece's not
  std::int64_t pieces[2] = {0, 0};
};

struct MergeChange {
  std::int64_t row_begin = 0;
  std::int64_t row_end = 0;
  std::int64_t pieces[2] = {0, 0};  // 0: this plan does not merge these rows
};

struct Comparison {
  std::string batches;  // how the batches differ; empty: they are equal
  PlanCost cost[2];
  std::int64_t granularity = 1;                              // pages a block
  std::int64_t overhead = 0;                                 // blocks a work
  std::int64_t same = 0;                                     // works on the same slot of both
  std::vector<std::pair<std::int64_t, std::int64_t>> moved;  // works on another slot
  std::vector<std::int64_t> only[2];                         // works that the other plan lacks
  // Works of both that stand elsewhere in the list or write other partial rows.
  std::int64_t renumbered = 0;
  std::vector<SplitChange> splits;
  std::vector<MergeChange> merges;
  std::vector<std::int64_t> partner;  // of each work of the second plan in the first; -1: none
  // Every work, its place and every merge is the same.
  [[nodiscard]] bool identical() const;
};

Comparison compare(const ComparedPlan& first, const ComparedPlan& second);

// A table, then lists of at most twenty lines each. Titles stand in it as they are.
std::string comparison_text(const Comparison& c, const DrawnPlan& first, const DrawnPlan& second);
// One object; lists are whole.
std::string comparison_json(const Comparison& c, const DrawnPlan& first, const DrawnPlan& second);
// A page: the table, the lists, and both plans; works that the other plan lacks or has elsewhere
// are outlined. The pointer over a work shows it in both.
std::string comparison_page(const Comparison& c, const DrawnPlan& first, const DrawnPlan& second);

}  // namespace mla::show

// What both forms of the device planner share: a planning request and the demand of all of them.
//
// Mirrors core/plan/v12_entries and v12_common in safe fidelity without sparse keys; numbers are 64
// bits wide, because a block number times the granularity may leave 32.
#pragma once

#include "hip_backend/kernels/arguments.hpp"
#include "hip_backend/kernels/gpu.hpp"

namespace mla::hip {

constexpr int kPlanThreads = 256;

MLA_DEVICE i64 ceil_div64(i64 a, i64 b) {
  return (a + b - 1) / b;
}

// Fixed cost of a work item, in blocks.
MLA_DEVICE i64 overhead_blocks(const PlanArguments& a) {
  return ceil_div64(16, a.page_size);
}

struct PlanEntry {
  i64 batch;  // word 0 of its work items
  i64 qo_len;
  i64 q_begin;
  i64 q_end;
  i64 kv_begin;
  i64 kv_end;
  i64 tiles;
  i64 tile_rows;
  i64 last_page_len;
};

MLA_DEVICE PlanEntry plan_entry(const PlanArguments& a, int index) {
  const int request = index / a.fold;
  const bool uniform = a.uniform_qo_len > 0;
  PlanEntry e;
  e.batch = index;
  e.qo_len = uniform ? a.uniform_qo_len : a.qo_indptr[request + 1] - a.qo_indptr[request];
  e.q_begin = uniform ? e.qo_len * index : a.qo_indptr[index];
  e.q_end = e.q_begin + e.qo_len;
  e.kv_begin = a.kv_indptr[request];
  e.kv_end = a.kv_indptr[request + 1];
  e.tiles = 1;
  if (a.query_split != 0)
    e.tiles = 2 * a.plan_heads > a.rows_per_workgroup
                  ? e.qo_len
                  : ceil_div64(e.qo_len * a.plan_heads, a.rows_per_workgroup);
  e.tile_rows = e.tiles == 0 ? 0 : ceil_div64(e.qo_len, e.tiles);
  e.last_page_len = a.page_size > 1 ? a.last_page_len[request] : 0;
  return e;
}

MLA_DEVICE i64 blocks_of(const PlanArguments& a, const PlanEntry& e) {
  return ceil_div64(e.kv_end - e.kv_begin, a.granularity);
}

// The blocks, overheads included, of every 256th planning request.
MLA_DEVICE i64 demand_of_thread(const PlanArguments& a) {
  i64 demand = 0;
  for (int i = thread_id(); i < a.batch * a.fold; i += kPlanThreads) {
    const PlanEntry e = plan_entry(a, i);
    demand += (blocks_of(a, e) + overhead_blocks(a)) * e.tiles;
  }
  return demand;
}

MLA_DEVICE void write_work(const PlanArguments& a, i64 work, const PlanEntry& e, i64 partial_row,
                           i64 q_begin, i64 q_end, i64 begin, i64 end, i64 offset) {
  int* to = a.work_info + 8 * work;
  to[0] = static_cast<int>(e.batch);
  to[1] = static_cast<int>(partial_row);
  to[2] = static_cast<int>(q_begin);
  to[3] = static_cast<int>(q_end);
  to[4] = static_cast<int>(begin);
  to[5] = static_cast<int>(end);
  to[6] = static_cast<int>(offset);
  to[7] = 0;
}

}  // namespace mla::hip

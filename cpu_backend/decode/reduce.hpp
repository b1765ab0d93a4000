// The merges that the reduce maps of a plan ask for (aiter.md 1.4, 7).
//
// A tile with no or one partial is skipped: nothing is written, not even a copy. Fails: bounds,
// rows and partial rows outside their buffers, and rows that another merge writes, become faults,
// and the tile is skipped.
#pragma once

#include "core/plan/plan.hpp"
#include "cpu_backend/decode/task.hpp"
#include "cpu_backend/merge.hpp"

namespace mla::cpu {

// `stage1` tells which output rows the works write and how many partial rows exist.
MergeList read_reduce(const plan::PlanView& plan, const TaskList& stage1);

}  // namespace mla::cpu

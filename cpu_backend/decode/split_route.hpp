// The non-persistent route: every request in S equal splits, and the merge of stage 2.
//
// Split z takes the KV tiles z, z+S, z+2S, ... of `split_granularity` tokens and writes nothing
// when there is none; stage 2 merges the min(S, tiles) splits that wrote (aiter.md 4). Partial rows
// lie [query row][split]. With one split stage 1 writes the output itself. There is no plan: works
// are numbered request * S + z and have no slot. Fails: index lists that leave their buffers become
// faults, as in a plan.
#pragma once

#include "cpu_backend/decode/task.hpp"
#include "cpu_backend/merge.hpp"

namespace mla::cpu {

TaskList split_tasks(const TaskInput& input);
MergeList split_merges(const DecodeMetadata& metadata, const TaskList& stage1);

}  // namespace mla::cpu

// The execution of a decode step with a given data path.
//
// Order: tasks and merges are read and checked, stage 1 runs, then the merges, then the launcher
// undoes folding and padding and writes the rows without keys. Fails: a shape or tensors that
// contradict the metadata are an error before anything runs; what a plan does wrong is a fault.
#pragma once

#include "core/engine/backend.hpp"
#include "cpu_backend/data_path/data_path.hpp"
#include "cpu_backend/decode/task.hpp"

namespace mla::cpu {

// The data path that the machine's default backend uses.
const DataPath& best_path();

// What stage 1 of the launch consists of, on whichever route; the shape has passed
// common_support().
TaskList stage1_tasks(const DecodeLaunch& launch, const RowMap& rows);

Result<DecodeResult> execute(const DataPath& path, const DecodeLaunch& launch,
                             const ExecutionOptions& options);

}  // namespace mla::cpu

// The tasks of a persistent plan, read from the buffers as a kernel reads them.
//
// work_meta_data gives the addresses of work_indptr and work_info; the words there are slots and
// works (aiter.md 1.1-1.3). Source of the mask: aiter.md 6. Fails: foreign addresses, decreasing
// slot bounds and works out of range become faults of the list.
#pragma once

#include "core/plan/plan.hpp"
#include "cpu_backend/decode/task.hpp"

namespace mla::cpu {

TaskList read_works(const plan::PlanView& plan, const TaskInput& input);

}  // namespace mla::cpu

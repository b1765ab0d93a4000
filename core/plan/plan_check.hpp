// plan_check: whether six buffers are a valid plan for a batch, said in words.
//
// Judges our plans and captured ones alike: it reads the buffers and the lengths, never a planner.
// An empty list means that a real persistent kernel and the reduce after it would compute every
// row that sees a key exactly once, from exactly the keys it may see. The measure are AITER's own
// kernels: tests/hip_backend/aiter/calibration runs damaged, rearranged and random plans on each of
// them, and none that is valid here may come out wrong there (docs/reference/plan-check.md).
// The other way round it is stricter than a single kernel: what one of them gets wrong
// is a violation for all. Source of the invariants: aiter.md 1, 3.2, 6, 7, 9; P04, P05, P06, P09.
// Nonsense in the buffers becomes violations; no index is followed unchecked.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/plan_check_input.hpp"

namespace mla::plan {

std::vector<Violation> plan_check(const PlanCheckInput& input);

std::vector<PlanningRequest> planning_requests(const PlanCheckInput& input);

// Whether it is known which keys a row of a causal step sees.
bool knows_seen_keys(const PlanCheckInput& input);
// [batch + 1] the fewest keys of all ranks that give a rank its local ones.
std::vector<std::int32_t> fewest_global_kv(std::span<const std::int32_t> kv_indptr,
                                           std::int64_t ranks, std::int64_t rank);
// Keys of a work whose record is right: the last page of its request may hold fewer than a page.
std::int64_t work_keys(const PlanCheckInput& input, const WorkItem& work);
// How many keys of its request a kernel row sees, from the first on: below 0 where that many more
// would have to come before it sees one. May be more than there are, of lists that contradict each
// other.
std::int64_t seen_keys(const PlanCheckInput& input, const PlanningRequest& request,
                       std::int64_t row);

}  // namespace mla::plan

// Defects: from the properties that fail on a case to one Failure for each defect.
//
// The case is shrunk for the first property that fails. Every property that fails on this
// smallest case has the same defect, whether it failed on the drawn case or said nothing there.
// A property that fails on the drawn case only has another defect and is shrunk by itself. Failures
// that the ledger explains are left out. Deterministic, unless `stopped` ends it early. Private to
// properties.
#pragma once

#include <vector>

#include "properties/judge/judge.hpp"
#include "properties/judge/memory_budget.hpp"
#include "properties/judge/run_options.hpp"

namespace mla::prop {

// `failing` in the order of the properties; `others` have not failed yet on any case. Each case
// that is tried waits for its share of the memory.
std::vector<Failure> defects_of(const RunOptions& options, MemoryBudget& memory, const Case& c,
                                std::vector<Failing> failing, std::vector<const Property*> others,
                                const Stopped& stopped);

}  // namespace mla::prop

// Cost: how much work a case is, before anything of it runs.
//
// One unit is one (query row, head, key) triple: 1088 multiply-adds of the reference. A (row, head)
// pair costs another 16 for its 512 outputs that are written and compared a dozen times, a key 4
// for drawing its 576 elements. Fails: never.
#pragma once

#include <cstdint>

#include "core/case/case.hpp"

namespace mla::prop {

std::int64_t cost_of(const Case& c);

// Cost of one request: what cost_of() sums up.
std::int64_t request_cost(const RequestSpec& request, std::int64_t heads);
// The same of a prefill: a triple has 320 multiply-adds instead of 1088, half of the new keys are
// masked, and each head has keys of its own.
std::int64_t prefill_cost(const RequestSpec& request, std::int64_t heads);

// Largest cost of a random case of RapidCheck's `size`, 0 to 100.
std::int64_t budget_of(int size);

}  // namespace mla::prop

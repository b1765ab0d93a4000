// Cost: how much work a case is, before anything of it runs.
//
// One unit is one (query row, head, key) triple: 1088 multiply-adds of the reference. A (row, head)
// pair costs another 16 for its 512 outputs that are written and compared a dozen times, a key 4
// for drawing its 576 elements.
#pragma once

#include <cstdint>

#include "core/case/case.hpp"
#include "core/result.hpp"

namespace mla::prop {

std::int64_t cost_of(const Case& c);

// Cost of one request: what cost_of() sums up.
std::int64_t request_cost(const RequestSpec& request, std::int64_t heads);
// The same of a prefill: a triple has 320 multiply-adds instead of 1088, half of the new keys are
// masked, and each head has keys of its own.
std::int64_t prefill_cost(const RequestSpec& request, std::int64_t heads);

// What the float64 reference of one step may cost: about 40 ms. Beyond, it is sampled (sample.hpp).
inline constexpr std::int64_t kReferenceCost = std::int64_t{1} << 17;

// The largest step that is executed: its cost, and the bytes of its tensors. Of a larger one only
// plans and lists are judged. As it stands, one request with a million keys and 16 heads is
// executed: a few seconds for each execution.
struct ExecutionLimits {
  std::int64_t cost = 22'000'000;
  std::int64_t bytes = std::int64_t{2} << 30;
  static constexpr ExecutionLimits none() { return {kNoLimit, kNoLimit}; }
  static constexpr std::int64_t kNoLimit = std::int64_t{1} << 62;
};

// Nothing if the case can be executed within the limits; otherwise what is too large.
MaybeError why_not_executed(const Case& c, const ExecutionLimits& limits);

// Largest cost of a random case of RapidCheck's `size`, 0 to 100.
std::int64_t budget_of(int size);

}  // namespace mla::prop

// What a planner asks of its input, and what it does with a plan that does not fit its buffers.
//
// Owns: the checks that all planners share; private to core/plan. Two kinds: what no planner can
// digest (both fidelities), and what the original accepts and gets wrong (safe only). Source: spec
// aiter.md 3.1 and 9. Fails: nothing here fails; an Error is the answer.
#pragma once

#include <cstdint>
#include <string>

#include "core/plan/plan_input.hpp"
#include "core/result.hpp"

namespace mla::plan {

[[nodiscard]] inline bool safe(const PlanInput& input) {
  return input.fidelity == Fidelity::safe;
}
[[nodiscard]] inline bool sparse(const PlanInput& input) {
  return input.topk >= 0;
}
// The original reads lengths from qo_indptr.
[[nodiscard]] inline bool ragged(const PlanInput& input) {
  return input.uniform_qo_len <= 0;
}

// Bytes of scratch memory (LDS) that the planner's workgroup may use.
[[nodiscard]] constexpr std::int64_t scratch_bytes(Arch arch) {
  return arch == Arch::gfx942 ? 65536 : 163840;
}

// The original runs on this input and the result is wrong or undefined; `bug` may be empty.
[[nodiscard]] Error refused(std::string sentence, std::string bug = "");

// "request 3", for sentences.
[[nodiscard]] std::string request_name(std::int64_t request);

// Lengths and monotony of the index lists, powers of two, counts: both fidelities.
[[nodiscard]] MaybeError check_form(const PlanInput& input, const PlanShape& shape,
                                    PlannerVersion version);

// Query rows beyond max_qo_len, lists that do not start at 0, a last page that cannot be.
// Safe only.
[[nodiscard]] MaybeError check_safe(const PlanInput& input, PlannerVersion version);

// Options that v1.0 and v1.1 silently ignore. Safe only.
[[nodiscard]] MaybeError check_ignored_options(const PlanInput& input);

// A cap of splits that v1.0 and v1.1 do not keep: they may cut in `most` what the call allows
// `budget` for. Safe only.
[[nodiscard]] MaybeError check_ignored_cap(const PlanInput& input, const std::string& budget,
                                           std::int64_t allowed, std::int64_t most);

// 0 < n < q with several causal tiles: the early tiles get ranges that end before they begin.
[[nodiscard]] Error shorter_than_query(std::int64_t request, std::int64_t n, std::int64_t q);

// The finished plan, or in safe fidelity an overrun error if it did not fit.
[[nodiscard]] Result<Plan> checked_overruns(Plan plan, Fidelity fidelity);

}  // namespace mla::plan

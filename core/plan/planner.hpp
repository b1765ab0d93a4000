// The planners: from lengths to the six buffers, element for element as AITER writes them.
//
// Each planner is a pure function. `Fidelity` says what to do where the original is broken: by
// default the core refuses or plans safely, and only on request repeats the original, out-of-range
// reads and buffer overruns included (as recorded overruns, never as real ones). Source: AITER
// csrc/kernels/mla/metadata/{v1_0,v1_1,v1_2}*.cuh; spec aiter.md 3. Fails: the original's checks
// become `unsupported`, its known defects become `refused` with a BUG id.
#pragma once

#include <cstdint>
#include <span>

#include "core/arch.hpp"
#include "core/plan/plan.hpp"
#include "core/result.hpp"
#include "core/shape/plan_shape.hpp"
#include "core/shape/planner_version.hpp"

namespace mla::plan {

enum class Fidelity : std::uint8_t { safe, as_aiter };

struct PlanInput {
  PlanKey key{};                                  // arch, units, heads, dtypes, max_qo_len
  std::span<const std::int32_t> qo_indptr{};      // [batch+1] rows; read by v1.1, sparse, ragged
  std::span<const std::int32_t> kv_indptr{};      // [batch+1] pages
  std::span<const std::int32_t> last_page_len{};  // [batch] tokens; read when page_size > 1
  bool causal = true;
  std::int64_t page_size = 1;        // tokens, power of two
  std::int64_t kv_granularity = 16;  // pages, power of two
  std::int64_t uniform_qo_len = -1;  // > 0: every request has this many rows
  std::int64_t topk = -1;            // >= 0: sparse, this many tokens a row
  std::int64_t max_split_per_batch = -1;
  bool cp_round_robin = false;  // suppresses the causal trim (v1.2)
  PlannerVersion version = PlannerVersion::v1_2;
  V12Kernel kernel = V12Kernel::automatic;
  Fidelity fidelity = Fidelity::safe;

  [[nodiscard]] std::int64_t batch() const {
    return static_cast<std::int64_t>(kv_indptr.size()) - 1;
  }
};

// Runs the planner that `version` and `kernel` name into buffers of the given sizes.
Result<Plan> make_plan(const PlanInput& input, const BufferSizes& sizes);

// The kernel that v1.2 launches for this input when `kernel` is automatic: the parallel one iff
// max_qo_len is 1, nothing is split, folded, sparse or paged, and its scratch fits the LDS.
V12Kernel choose_v12_kernel(const PlanInput& input, const PlanShape& shape);

// The planners themselves. `shape` comes from resolve_plan_shape (v1.2) or its v11 form.
Result<Plan> plan_v12_serial(const PlanInput& input, const PlanShape& shape, const BufferSizes&);
Result<Plan> plan_v12_parallel(const PlanInput& input, const PlanShape& shape, const BufferSizes&);
Result<Plan> plan_v11(const PlanInput& input, const PlanShape& shape, const BufferSizes&);
Result<Plan> plan_v10(const PlanInput& input, const PlanShape& shape, const BufferSizes&);

}  // namespace mla::plan

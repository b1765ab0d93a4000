// PlanInput: what a planner is asked, for every version.
//
// `Fidelity` says what to do where the original is broken: by default the core refuses or plans
// safely, and only on request repeats the original, out-of-range reads and buffer overruns included
// (as recorded overruns, never as real ones).
#pragma once

#include <cstdint>
#include <span>

#include "core/plan/plan.hpp"
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

}  // namespace mla::plan

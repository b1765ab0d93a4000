// A planner call and a plan, as JSON: the one vocabulary of `plan` and `check`.
//
// Keys are those of the golden vectors in fixtures/golden: the arguments of AITER's
// get_mla_metadata_v1 plus `arch` and `num_cu`, then `buffer_sizes` and the five int32 buffers,
// flattened, null where never written, the unwritten tail cut off. Absent arguments take AITER's
// defaults (aiter.md 3.1). A key that is not read is refused. Private to properties. Fails:
// with the key and what stands there.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/lifetime.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/plan_check.hpp"
#include "core/plan/planner.hpp"
#include "core/plan/ps_prefill.hpp"
#include "core/plan/sizes.hpp"
#include "core/result.hpp"

namespace mla::cli {

class Fields;
// Keys that an object may have although no planner reads them.
std::span<const std::string_view> keys_beside_a_call();
// The architecture that `arch` names.
Arch read_arch(Fields& fields);
// bf16 or fp8; bf16 where the key is absent.
Dtype read_dtype(Fields& fields, const char* key);
// Rows of the longest request, at least 1.
std::int64_t longest_request(std::span<const std::int32_t> qo_indptr);
// Heads as a planner counts them, 1 to the most of a case.
Heads read_heads(Fields& fields, const char* key);

// Owns the lists that the spans of `input` and `dealt` refer to: it moves, and does not copy.
struct PlannerCall {
  std::vector<std::int32_t> qo_indptr, kv_indptr, last_page_len;
  std::vector<std::int32_t> global_kv_indptr;
  plan::DealtKeys dealt;  // of a rank's call, as its launch says
  plan::PlanInput input;
  plan::SizeQuery sizes;

  PlannerCall() = default;
  PlannerCall(PlannerCall&&) = default;
  PlannerCall& operator=(PlannerCall&&) = default;
  PlannerCall(const PlannerCall&) = delete;
  PlannerCall& operator=(const PlannerCall&) = delete;
  ~PlannerCall() = default;
};

Result<PlannerCall> read_planner_call(const nlohmann::json& object);
// Words of all plan buffers together.
inline constexpr std::int64_t kMostWords = 64 << 20;
// Why lists or buffers of a call are larger than any engine's; nothing if they are not. Asked
// before anything is allocated for them: a few bytes of JSON may ask for gigabytes.
[[nodiscard]] Status too_large(const PlannerCall& call);
[[nodiscard]] Status too_large(const plan::PsInput& call);
// What the buffers of a prefill call are asked for with.
plan::PsSizeQuery prefill_sizes(const plan::PsInput& input);
// A number of compute units, at most that of a case.
ComputeUnits read_compute_units(Fields& fields);
void write_planner_call(nlohmann::ordered_json& out, const plan::PlanInput& input);

// Buffers as they were found, each as long as it was allocated; kPoison where nothing was written.
struct FoundPlan {
  std::vector<std::int32_t> work_indptr, work_info, reduce_indptr, reduce_final_map,
      reduce_partial_map;
  [[nodiscard]] plan::PlanView view() const MLA_LIFETIME_BOUND;
};

// The buffers at the top level of the object, or below `expected` as in the golden vectors. Without
// `buffer_sizes` a list is as long as its buffer; rows may be lists of their own. `cut_off` is what
// the words of a buffer hold that its list leaves out at the end.
bool has_plan(const nlohmann::json& object);
// Where buffers have sizes: gives the one of a list the size of what is listed.
void size_as_listed(nlohmann::json& object, std::string_view list);
Result<FoundPlan> read_plan(const nlohmann::json& object, std::int32_t cut_off = plan::kPoison);
// With writes past a buffer, if there are any, as `overruns`: lists of [index, value].
void write_plan(nlohmann::ordered_json& out, const plan::BufferSizes& sizes,
                const plan::Plan& plan);

}  // namespace mla::cli

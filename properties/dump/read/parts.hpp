// The parts of a dump, each from the keys of one JSON object.
//
// Keys are the arguments of AITER's get_mla_metadata_v1 and get_ps_metadata_v1 plus `arch` and
// `num_cu`, the lists of the plan, and both once more after `launch_` (docs/reference/bundles.md).
// Absent arguments take AITER's defaults (aiter.md 3.1, 5). A key that is not read is refused.
// Fails: with the key and what stands there.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "properties/dump/dump.hpp"
#include "properties/files/json_fields.hpp"

namespace mla::dump {

Result<PlannerCall> read_planner_call(const nlohmann::json& object);
// A call to be planned, whose planner refuses what it does not take.
Result<PrefillCall> read_prefill_call(const nlohmann::json& object);
// A call with its plan, whose numbers must be those of some plan.
Result<PrefillCall> read_planned_prefill_call(const nlohmann::json& object);

// The lists stand at the top level of the object, or below `expected` as in the golden vectors.
// Without `buffer_sizes` a list is as long as its buffer; rows may be lists of their own.
bool has_plan(const nlohmann::json& object);
// `cut_off` is what the words of a buffer hold that its list leaves out at the end.
Result<FoundPlan> read_plan(const nlohmann::json& object, std::int32_t cut_off = plan::kPoison);
// The plan as the kernel found it: `planned`, but for the lists that the launch has, which are
// whole.
Result<FoundPlan> read_launched_plan(const nlohmann::json& object, const FoundPlan& planned);

bool has_launch(const nlohmann::json& object);
// Of a step whose plan is `plan`. Fails also: a plan that cannot be read.
Result<Launch> read_launch(const nlohmann::json& object,
                           const std::optional<Result<FoundPlan>>& plan);

// Nothing without `scheduler_seq_lens`. Fails also: lists that are not of so many requests.
Result<std::optional<Schedule>> read_schedule(const nlohmann::json& object);

// Single arguments: `fields` keeps the first that is wrong.
// Keys that an object may have although no planner reads them.
std::span<const std::string_view> keys_beside_a_call();
// `value`, which is at most `most`, as in a case.
std::int64_t number_up_to(files::Fields& fields, const char* key, std::int64_t most,
                          std::int64_t value);
ComputeUnits read_compute_units(files::Fields& fields);
Arch read_arch(files::Fields& fields);
// Heads as a planner counts them, 1 to the most of a case.
Heads read_heads(files::Fields& fields, const char* key);
// bf16 or fp8; bf16 where the key is absent.
Dtype read_dtype(files::Fields& fields, const char* key);

}  // namespace mla::dump

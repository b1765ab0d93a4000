// A captured prefill plan, checked against its batch.
//
// Reads the arguments of AITER's get_ps_metadata_v1 by their names, `arch` and `num_cu`, and the
// five buffers as in planner_call.hpp. Absent arguments take the defaults of AITER's Python
// (aiter.md 5). Fails: with the key and what stands there.
#pragma once

#include <nlohmann/json.hpp>

#include "core/plan/ps_check.hpp"
#include "core/plan/ps_prefill.hpp"
#include "properties/capture/checked_plan.hpp"

namespace mla::cli {

// Whether the object is a prefill step: planned on the host, or without a plan on path flash.
bool is_prefill(const nlohmann::json& object);

// A call of the planner with the plan that was found; owns the lists that the spans of `input`
// refer to, so it is moved and never copied.
struct PrefillCall {
  std::vector<std::int32_t> qo_indptr, kv_indptr, context_lens;
  Arch arch = Arch::gfx950;
  Heads heads{1};  // query heads
  plan::PsInput input;
  FoundPlan found;

  PrefillCall() = default;
  PrefillCall(PrefillCall&&) = default;
  PrefillCall& operator=(PrefillCall&&) = default;
  [[nodiscard]] plan::PsCheckInput check_input() const;
};

// Of an object with a plan.
Result<PrefillCall> read_prefill_call(const nlohmann::json& object);

Result<PlanAnswer> check_prefill_object(const nlohmann::json& object, std::string name);

}  // namespace mla::cli

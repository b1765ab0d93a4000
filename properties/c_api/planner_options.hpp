// The planner call of C options, as the core takes it.
//
// Owns: the translation of mla_decode_plan_options; planners and the plan check share it. Private
// to properties/c_api. Fails: options and index lists out of range.
#pragma once

#include "core/plan/planner.hpp"
#include "properties/c_api/border.hpp"

namespace mla::c_api {

// The index lists of a batch, checked: their spans stay those of the caller.
struct DecodeLists {
  const aiter_tensor_t* qo_indptr;
  const aiter_tensor_t* kv_indptr;
  const aiter_tensor_t* last_page_len;
};
std::optional<Failure> check_lists(const DecodeLists& lists);

Result<plan::PlanInput> planner_input(const mla_decode_plan_options& options);
void set_lists(plan::PlanInput& input, const DecodeLists& lists);

}  // namespace mla::c_api

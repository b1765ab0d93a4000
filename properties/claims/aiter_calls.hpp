// Planner calls of fixtures/golden/random.json, with the sums of what AITER's own planners answer.
//
// Built into the program, so that a run from anywhere can ask. Source: fixtures/golden/README.md.
// Private to properties.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/capture/planner_call.hpp"

namespace mla::prop {

struct AiterCall {
  std::string name;
  cli::PlannerCall call;  // to be planned as AITER does (Fidelity::as_aiter)
  // FNV-1a of the words in use, unwritten ones as plan::kPoison: work_indptr, work_info_set,
  // reduce_indptr, reduce_final_map, reduce_partial_map.
  std::array<std::uint64_t, 5> sums{};
};

// All 577. Ends the program if the text that was built in is damaged.
const std::vector<AiterCall>& aiter_calls();

// The first list of a plan that is not what AITER answers, by its name; nothing if all are.
std::optional<std::string_view> other_list(const AiterCall& aiter, const plan::Plan& plan);

}  // namespace mla::prop

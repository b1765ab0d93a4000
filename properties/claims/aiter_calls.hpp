// Planner calls of fixtures/golden/random.json, with the sums of what AITER's own planners answer.
//
// Built into the program, so that a run from anywhere can ask. Source: fixtures/golden/README.md.
// Private to properties.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "properties/capture/planner_call.hpp"

namespace mla::prop {

// FNV-1a of the words in use, unwritten ones as plan::kPoison.
using PlanSums = std::array<std::uint64_t, 5>;
inline constexpr std::array<const char*, 5> kSummedLists = {
    "work_indptr", "work_info", "reduce_indptr", "reduce_final_map", "reduce_partial_map"};

struct AiterCall {
  std::string name;
  cli::PlannerCall call;  // to be planned as AITER does (Fidelity::as_aiter)
  PlanSums sums{};
};

// All 577. Ends the program if the text that was built in is damaged.
const std::vector<AiterCall>& aiter_calls();

PlanSums sums_of(const plan::Plan& plan);

}  // namespace mla::prop

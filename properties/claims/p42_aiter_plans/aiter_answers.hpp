// What AITER's own planners and size queries answer to the calls of fixtures/golden.
//
// Built into the program, so that a run from anywhere can ask. Each list ends the program if the
// text that was built in is damaged. Source: fixtures/golden/README.md. Private to properties.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/ps_prefill.hpp"
#include "core/plan/sizes.hpp"
#include "core/shape/split_count.hpp"
#include "properties/dump/dump.hpp"

namespace mla::prop {

// A planner call of random.json.
struct AiterCall {
  std::string name;
  dump::PlannerCall call;  // to be planned as AITER does (Fidelity::as_aiter)
  // FNV-1a of the words in use, unwritten ones as plan::kPoison: work_indptr, work_info_set,
  // reduce_indptr, reduce_final_map, reduce_partial_map.
  std::array<std::uint64_t, 5> sums{};
};

const std::vector<AiterCall>& aiter_calls();

// The first list of a plan that is not what AITER answers, by its name; nothing if all are.
std::optional<std::string_view> other_list(const AiterCall& aiter, const plan::Plan& plan);

// A call of v12_h16_q1.json to which the two kernels of v1.2 answer differently (BUG-074), with all
// words of both answers.
struct AiterKernelCall {
  std::string name;
  dump::PlannerCall call;  // as in AiterCall; V12Kernel::automatic is the parallel kernel here
  dump::FoundPlan parallel, serial;
};

const std::vector<AiterKernelCall>& aiter_kernel_calls();

// A call of the host planner for prefill, of ps_prefill.json, with all words of the answer.
struct AiterPrefillCall {
  std::string name;
  dump::PrefillPlan planned;
};

const std::vector<AiterPrefillCall>& aiter_prefill_calls();

// A row of sizes.json or splits.json; rows count from 0.
template <class Query, class Answer>
struct AiterRow {
  Query query;
  Answer answer;
};

const std::vector<AiterRow<plan::SizeQuery, plan::BufferSizes>>& aiter_sizes();
const std::vector<AiterRow<plan::PsSizeQuery, plan::BufferSizes>>& aiter_prefill_sizes();
const std::vector<AiterRow<plan::SplitQuery, std::int64_t>>& aiter_splits();

}  // namespace mla::prop

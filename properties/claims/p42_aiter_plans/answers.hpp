// What AITER's own planners and size queries answer: fixtures/golden/answers.txt.
//
// Built into the program, so that a run from anywhere can ask. The file has answers of the JSON
// files beside it, in few bytes (tests/core/plan/recorded_answers.py). Units as in plan_input.hpp,
// ps_prefill.hpp and sizes.hpp. Ends the program if the text that was built in is damaged. Private
// to P42.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/planner.hpp"
#include "core/plan/ps_prefill.hpp"
#include "core/plan/sizes.hpp"
#include "core/shape/split_count.hpp"

namespace mla::prop {

// The lower halves of the FNV-1a sums of the words in use, unwritten ones as plan::kPoison:
// work_indptr, work_info_set, reduce_indptr, reduce_final_map, reduce_partial_map.
using AiterSums = std::array<std::uint32_t, 5>;

// The first list of a plan that is not what AITER answers, by its name; nothing if all are.
std::optional<std::string_view> other_list(const AiterSums& aiter, const plan::Plan& plan);

// A planner call, to be planned as AITER does (Fidelity::as_aiter).
struct AiterCall {
  std::string name;
  plan::PlanInput scalars;  // without its lists
  plan::SizeQuery query;    // of its buffers
  std::vector<std::int32_t> qo_indptr, kv_indptr, last_page_len;
  AiterSums sums{};

  [[nodiscard]] plan::PlanInput input() const&;
  [[nodiscard]] plan::PlanInput input() const&& = delete;  // refers to the lists
};

// A call of the host planner for prefill.
struct AiterPrefillCall {
  std::string name;
  plan::PsInput scalars;  // without its lists
  plan::PsSizeQuery query;
  std::vector<std::int32_t> qo_indptr, kv_indptr, context_lens;
  AiterSums sums{};

  [[nodiscard]] plan::PsInput input() const&;
  [[nodiscard]] plan::PsInput input() const&& = delete;  // refers to the lists
};

// A row of a table.
template <class Query, class Answer>
struct AiterRow {
  Query query;
  Answer answer;
};

struct AiterAnswers {
  std::vector<AiterCall> calls;
  std::vector<AiterPrefillCall> prefills;
  std::vector<AiterRow<plan::SizeQuery, plan::BufferSizes>> sizes;
  std::vector<AiterRow<plan::PsSizeQuery, plan::BufferSizes>> prefill_sizes;
  std::vector<AiterRow<plan::SplitQuery, std::int64_t>> splits;
};

const AiterAnswers& aiter_answers();

}  // namespace mla::prop

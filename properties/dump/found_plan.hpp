// FoundPlan: the five int32 lists of a plan as a dump has them.
//
// Each list is as long as its buffer was allocated; plan::kPoison where nothing was written.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/lifetime.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/sizes.hpp"

namespace mla::dump {

using Words = std::vector<std::int32_t>;

struct FoundPlan : plan::PlanLists<Words> {
  [[nodiscard]] plan::PlanView view() const MLA_LIFETIME_BOUND;
  [[nodiscard]] plan::BufferSizes sizes() const;
};

// Words of all lists together.
inline constexpr std::int64_t kMostWords = 64 << 20;

// A list: its key in a dump, the name of its buffer, words of a row. In the order of PlanLists.
struct PlanList {
  const char* key;
  const char* buffer;
  std::int64_t row;
  Words plan::PlanLists<Words>::* words;
};
inline constexpr std::array<PlanList, 5> kPlanLists = {{
    {"work_indptr", "work_indptr", 1, &plan::PlanLists<Words>::work_indptr},
    {"work_info", "work_info_set", plan::kWorkItemWords, &plan::PlanLists<Words>::work_info},
    {"reduce_indptr", "reduce_indptr", 1, &plan::PlanLists<Words>::reduce_indptr},
    {"reduce_final_map", "reduce_final_map", 2, &plan::PlanLists<Words>::reduce_final_map},
    {"reduce_partial_map", "reduce_partial_map", 1, &plan::PlanLists<Words>::reduce_partial_map},
}};

}  // namespace mla::dump

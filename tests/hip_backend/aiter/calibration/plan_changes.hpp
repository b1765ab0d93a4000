// Plans to calibrate plan_check with: one planner's plan, damaged and rearranged, and plans that no
// planner made.
//
// A change has the family that the calibration table counts it in. Which of them a kernel gets
// right is for the kernel to say. Units as in plan.hpp.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan_check.hpp"

namespace mla::hip::aiter::test {

// The buffers of a plan without their addresses.
struct PlanWords : plan::PlanLists<std::vector<std::int32_t>> {
  [[nodiscard]] std::size_t works() const { return static_cast<std::size_t>(work_indptr.back()); }
};
PlanWords words_of(const plan::PlanView& view);
plan::Plan plan_of(const PlanWords& words);

struct PlanChange {
  std::string_view family;
  std::string what;  // the change in words
  PlanWords plan;
};

// Every live word of the five buffers set to values around its own, one at a time.
std::vector<PlanChange> single_words(const PlanWords& plan);

// Several words that belong together: cuts moved, works lost, doubled or exchanged.
std::vector<PlanChange> damaged_works(const PlanWords& plan, std::int64_t page_size);

// The same works in other slots, slabs and lists; what is not read filled with garbage.
std::vector<PlanChange> rearranged(const PlanWords& plan, std::mt19937_64& random);

// `count` plans with any cuts, tiles, slots and slabs, each of which covers every key once.
// `input` says for what batch; its plan gives the number of slots.
std::vector<PlanChange> random_plans(const plan::PlanCheckInput& input, std::int64_t count,
                                     std::mt19937_64& random);

// At most `most` of each family, in a random order.
std::vector<PlanChange> some_of_each(std::vector<PlanChange> all, std::int64_t most,
                                     std::mt19937_64& random);

}  // namespace mla::hip::aiter::test

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "tests/hip_backend/aiter/calibration/plan_changes.hpp"

namespace mla::hip::aiter::test {

using plan::kWorkItemWords;
using plan::WorkItem;

WorkItem PlanWords::work(std::size_t index) const {
  std::array<std::int32_t, kWorkItemWords> words{};
  std::copy_n(work_info.begin() + static_cast<std::ptrdiff_t>(index * kWorkItemWords),
              kWorkItemWords, words.begin());
  return std::bit_cast<WorkItem>(words);
}

void PlanWords::set_work(std::size_t index, const WorkItem& item) {
  const auto words = std::bit_cast<std::array<std::int32_t, kWorkItemWords>>(item);
  std::copy(words.begin(), words.end(),
            work_info.begin() + static_cast<std::ptrdiff_t>(index * kWorkItemWords));
}

PlanWords words_of(const plan::PlanView& view) {
  const auto copy = [](std::span<const std::int32_t> from) {
    return std::vector<std::int32_t>(from.begin(), from.end());
  };
  return {copy(view.work_indptr), copy(view.work_info), copy(view.reduce_indptr),
          copy(view.reduce_final_map), copy(view.reduce_partial_map)};
}

plan::Plan plan_of(const PlanWords& words) {
  const std::array<std::uint64_t, 2> addresses{};
  return plan::Plan::copy_of({.work_meta_data = addresses,
                              .work_indptr = words.work_indptr,
                              .work_info = words.work_info,
                              .reduce_indptr = words.reduce_indptr,
                              .reduce_final_map = words.reduce_final_map,
                              .reduce_partial_map = words.reduce_partial_map});
}

std::vector<PlanChange> some_of_each(std::vector<PlanChange> all, std::int64_t most,
                                     std::mt19937_64& random) {
  std::shuffle(all.begin(), all.end(), random);
  std::map<std::string_view, std::int64_t> seen;
  std::erase_if(all, [&](const PlanChange& c) { return seen[c.family]++ >= most; });
  return all;
}

}  // namespace mla::hip::aiter::test

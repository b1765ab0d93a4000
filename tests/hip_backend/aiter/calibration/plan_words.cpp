#include <algorithm>
#include <map>

#include "tests/hip_backend/aiter/calibration/plan_changes.hpp"

namespace mla::hip::aiter::test {

using plan::kWorkItemWords;
using plan::WorkItem;

PlanWords words_of(const plan::PlanView& view) {
  return {lists_of(view, [](const char*, std::span<const std::int32_t> from) {
    return std::vector<std::int32_t>(from.begin(), from.end());
  })};
}

plan::Plan plan_of(const PlanWords& words) {
  return plan::Plan::copy_of(plan::PlanView(words));
}

std::vector<PlanChange> some_of_each(std::vector<PlanChange> all, std::int64_t most,
                                     std::mt19937_64& random) {
  std::shuffle(all.begin(), all.end(), random);
  std::map<std::string_view, std::int64_t> seen;
  std::erase_if(all, [&](const PlanChange& c) { return seen[c.family]++ >= most; });
  return all;
}

}  // namespace mla::hip::aiter::test

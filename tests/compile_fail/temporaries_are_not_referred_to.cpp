// What an owner hands out refers into it: Clang sees where the owner is a temporary one.
#include "core/plan/plan.hpp"

int main() {
  const mla::plan::BufferSizes sizes{};
#ifdef MLA_BREAK
  const auto words = mla::plan::Plan(sizes).work_info.data();
  const auto& kept = mla::plan::PlanBuffer("words", 0).overruns();
  return static_cast<int>(words.size() + kept.size());
#else
  const mla::plan::Plan plan(sizes);
  return static_cast<int>(plan.work_info.data().size() + plan.view().work_info.size());
#endif
}

#include "properties/claims/p40_bad_input_refused/plan_buffers.hpp"

#include <algorithm>
#include <array>

#include "core/say.hpp"

namespace mla::prop {
namespace {

using plan::kPoison;
using plan::PlanBuffer;

// No planner writes the word that stands for "unwritten".
std::optional<std::string> misread(const PlanBuffer& buffer) {
  for (const std::int64_t i : {std::int64_t{-1}, buffer.size()})
    if (buffer.written(i) || buffer.at(i) != kPoison)
      return say("word ", i, " of ", buffer.name(), ", which has ", buffer.size(),
                 " words, is not unwritten");
  for (std::int64_t i = 0; i < buffer.size(); ++i)
    if (buffer.written(i) != (buffer.at(i) != kPoison))
      return say("word ", i, " of ", buffer.name(), " counts as ",
                 buffer.written(i) ? "written and was not" : "unwritten and was written");
  return std::nullopt;
}

std::optional<std::string> other_copy(const plan::Plan& whole) {
  const plan::Plan copy = plan::Plan::copy_of(whole.view());
  if (copy.sizes() != whole.sizes()) return "a copy of the plan has other sizes";
  const auto all = whole.all();
  const auto copies = copy.all();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!std::ranges::equal(all[i]->data(), copies[i]->data()))
      return say("a copy of the plan has other words in ", all[i]->name());
  return std::nullopt;
}

}  // namespace

std::optional<std::string> misread_words(const plan::Plan& plan) {
  for (const PlanBuffer* buffer : plan.all())
    if (auto why = misread(*buffer)) return why;
  std::array<std::int32_t, plan::kWorkItemWords> unwritten{};
  unwritten.fill(kPoison);
  const std::int64_t capacity = plan.work_info.size() / plan::kWorkItemWords;
  for (const std::int64_t work : {std::int64_t{-1}, capacity})
    if (words_of(plan.work(work)) != unwritten)
      return say("work ", work, " of ", capacity, " is not unwritten");
  return other_copy(plan);
}

}  // namespace mla::prop

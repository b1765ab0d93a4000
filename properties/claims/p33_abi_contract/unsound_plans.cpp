// P33: a plan whose lists or addresses are not those of its buffers is refused, and never followed.
#include <array>

#include "core/engine/launch.hpp"
#include "core/say.hpp"
#include "cpu_backend/decode/work_list.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/damaged_launch.hpp"

namespace mla::prop {
namespace {

using plan::PlanView;

// What every backend asks before it runs a launch.
std::optional<std::string> empty_list_taken(Subject& subject) {
  const DecodeMetadata& md = *subject.metadata();
  const PlanView whole = md.plan->view();
  PlanView no_slots = whole;
  no_slots.work_indptr = {};
  PlanView no_tiles = whole;
  no_tiles.reduce_indptr = {};
  const StepLists lists(md);
  for (const PlanView& view : {no_slots, no_tiles}) {
    const DecodeMetadata damaged = lists.with(md, plan::Plan::copy_of(view));
    if (!check_launch({damaged, *subject.tensors()}))
      return say("a launch without an entry in ",
                 view.work_indptr.empty() ? "work_indptr" : "reduce_indptr", " is taken");
  }
  return std::nullopt;
}

// The CPU backend follows the addresses as a kernel does.
std::optional<std::string> foreign_words_followed(const DecodeMetadata& md,
                                                  const DecodeTensors& tensors) {
  const std::int64_t fold = md.shape.fold_ratio();
  const cpu::TaskInput input{
      .metadata = md,
      .cache = cpu::CacheView::of(tensors.cache),
      .kernel_rows = md.rows().count() * fold,
      .fold = fold,
      .partial_rows = md.plan->reduce_partial_map.size() * md.shape.max_qo_len};
  const PlanView whole = md.plan->view();
  for (const std::size_t word : {0U, 1U}) {
    std::array<std::uint64_t, 2> addresses{whole.work_meta_data[0], whole.work_meta_data[1]};
    addresses[word] += sizeof(std::int32_t);
    const PlanView view{addresses, whole};
    const cpu::TaskList list = cpu::read_works(view, input);
    if (list.faults.empty() || !list.tasks.empty())
      return say("a foreign address in work_meta_data[", word, "] gives ", list.tasks.size(),
                 " works and ", list.faults.size(), " faults");
  }
  const std::int64_t works = md.plan->works();
  if (works == 0) return std::nullopt;
  PlanView short_info = whole;
  short_info.work_info =
      whole.work_info.first(static_cast<std::size_t>((works - 1) * plan::kWorkItemWords));
  if (cpu::read_works(short_info, input).faults.empty())
    return "a work after the end of work_info_set is read";
  return std::nullopt;
}

}  // namespace

Outcome decode_unsound_plans(Subject& subject) {
  if (const auto why = empty_list_taken(subject)) return failed(*why);
  if (const auto why = foreign_words_followed(*subject.metadata(), *subject.tensors()))
    return failed(*why);
  return passed();
}

}  // namespace mla::prop

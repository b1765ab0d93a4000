#include "core/plan/ps_prefill.hpp"
#include "properties/dump/blame/blame.hpp"
#include "properties/dump/blame/differences.hpp"

namespace mla::dump {
namespace {

// The plan of the captured call, in buffers that hold it.
Result<plan::Plan> planned_again(const PrefillCall& call, const plan::BufferSizes& captured) {
  const auto asked = plan::query_ps_sizes(call.sizes());
  return plan::plan_ps_prefill(call.input, asked ? with_room(captured, *asked) : captured);
}

}  // namespace

std::string overrun(const PrefillPlan& dumped) {
  const auto& [call, found] = dumped;
  const plan::BufferSizes captured = found.sizes();
  const auto planned = planned_again(call, captured);
  if (!planned || !differences(*planned, found).empty()) return {};
  const auto allocated = plan::plan_ps_prefill(call.input, at_most(captured, planned->sizes()));
  return allocated ? past_the_end(*allocated) : std::string();
}

Diagnosis blame(const PrefillPlan& dumped) {
  const auto& [call, found] = dumped;
  const auto planned = planned_again(call, found.sizes());
  if (!planned)
    return {Culprit::builder, "the planner does not take this call: " + planned.error().message};
  const std::vector<Difference> words = differences(*planned, found);
  if (const MaybeError bad = words.empty() ? plan::refused_requests(call.input) : std::nullopt)
    return {Culprit::builder, "the planner gives this plan for the lists: " + bad->message};
  if (const std::string what = overrun(dumped); !what.empty()) return {Culprit::builder, what};
  if (words.empty())
    return {Culprit::planner,
            "the original planner gives these buffers for this call, and they are no valid plan"};
  const std::string few = few_words(words);
  return {Culprit::stale, few.empty() ? "the planner does not give these buffers for this call: "
                                        "they are of another step, or damaged"
                                      : few};
}

}  // namespace mla::dump

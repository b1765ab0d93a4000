#include "properties/dump/blame/blame.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/engine/decode_builder.hpp"
#include "core/say.hpp"
#include "core/units.hpp"
#include "properties/dump/blame/differences.hpp"
#include "properties/dump/blame/questions.hpp"

namespace mla::dump {
namespace {

Result<plan::BufferSizes> asked_sizes(const plan::PlanInput& in) {
  return plan::query_sizes(
      {.arch = in.key.arch,
       .compute_units = in.key.compute_units,
       .batch = Requests(in.batch()),
       .max_qo_len = std::max(in.key.max_qo_len, longest_request(in.qo_indptr)),
       .heads = in.key.heads_per_kv_head * in.key.kv_heads.count(),
       .dtype = in.key.dtype,
       .fast_mode = true});  // the query of the others counts pieces that no plan has
}

// Buffers for the plan of a question. Nothing where they are larger than any engine's.
std::optional<plan::BufferSizes> room_for(const plan::PlanInput& in, const FoundPlan& found) {
  const plan::BufferSizes captured = found.sizes();
  const auto asked = asked_sizes(in);
  if (!asked) return captured;
  if (asked->work_items > kMostWords / plan::kWorkItemWords) return std::nullopt;
  return with_room(captured, *asked);
}

// Runs a planner into buffers of given sizes.
using Planner = Result<plan::Plan>(const plan::PlanInput&, const plan::BufferSizes&);

// Where the captured buffers are not what the planner gives; at most a few of many places. Nothing
// if it gives no plan.
std::optional<std::vector<Difference>> differences(const plan::PlanInput& input,
                                                   const FoundPlan& found,
                                                   Planner* planner = plan::make_plan) {
  const auto sizes = room_for(input, found);
  if (!sizes) return std::nullopt;
  const auto plan = planner(input, *sizes);
  if (!plan) return std::nullopt;
  return differences(*plan, found);
}

bool gives(const plan::PlanInput& input, const FoundPlan& found,
           Planner* planner = plan::make_plan) {
  const auto different = differences(input, found, planner);
  return different && different->empty();
}

// Whether AITER's planner gives the buffers, or ours, whose plan of a step has no empty work.
bool either_gives(plan::PlanInput input, const FoundPlan& found) {
  input.fidelity = plan::Fidelity::as_aiter;
  if (gives(input, found)) return true;
  input.fidelity = plan::Fidelity::safe;
  return gives(input, found, plan_step);
}

// What the planner writes past the end of a captured buffer, in words. Empty: nothing.
std::string past_buffers(const plan::PlanInput& input, const FoundPlan& found) {
  const auto room = room_for(input, found);
  if (!room) return {};
  const auto plan = plan::make_plan(input, at_most(found.sizes(), *room));
  return plan ? past_the_end(*plan) : std::string();
}

// Each list of works is followed by a workgroup, whether the planner fills it or not.
std::string unfilled_slots(const plan::PlanInput& input, const FoundPlan& found) {
  const auto plan = plan::make_plan(input, found.sizes());
  const auto asked = asked_sizes(input);
  if (!plan || !asked || plan->work_indptr.size() <= asked->work_indptr) return {};
  const plan::PlanBuffer& slots = plan->work_indptr;
  return say(slots.name(), " has ", slots.size(), " entries, of which the planner fills ",
             slots.used(), " for ", input.key.compute_units.count(), " compute units");
}

// The planner's calls for what was asked: AITER chooses between two kernels of v1.2.
std::vector<plan::PlanInput> asked_of(const PlannerCall& call) {
  std::vector<plan::PlanInput> out{call.input};
  out[0].fidelity = plan::Fidelity::as_aiter;
  for (const auto kernel : {plan::V12Kernel::serial, plan::V12Kernel::parallel}) {
    if (call.input.version != plan::PlannerVersion::v1_2) break;
    out.push_back(out[0]);
    out.back().kernel = kernel;
  }
  return out;
}

// The few words in which the buffers differ from a plan for this call; empty if they are many. Our
// plan differs from AITER's where that one hides keys, and that of a step has no work without a
// key.
std::string damage(std::vector<plan::PlanInput> asked, const FoundPlan& found) {
  asked.push_back(asked[0]);
  asked.back().fidelity = plan::Fidelity::safe;
  std::vector<Difference> least(kFewWords + 1);
  const auto take = [&](const std::optional<std::vector<Difference>>& d) {
    if (d && d->size() < least.size()) least = *d;
  };
  for (const plan::PlanInput& input : asked) take(differences(input, found));
  take(differences(asked.back(), found, plan_step));
  return few_words(least);
}

}  // namespace

std::string_view name(Culprit culprit) {
  switch (culprit) {
    case Culprit::none:
      return "none found";
    case Culprit::planner:
      return "the planner";
    case Culprit::builder:
      return "the builder";
    case Culprit::stale:
      return "the builder, or what came after it";
    case Culprit::after:
      return "what came after the planner";
  }
  return {};
}

std::string overrun(const PlannerCall& call, const FoundPlan& found) {
  for (const plan::PlanInput& input : asked_of(call))
    if (gives(input, found)) return past_buffers(input, found);
  return {};
}

Diagnosis blame(const PlannerCall& call, const FoundPlan& found) {
  const std::vector<plan::PlanInput> asked = asked_of(call);
  if (gives(asked[0], found)) {
    for (const auto& wrong_size : {past_buffers, unfilled_slots})
      if (const std::string what = wrong_size(asked[0], found); !what.empty())
        return {Culprit::builder, what};
    return {
        Culprit::planner,
        "the original planner gives these buffers for this call, and they are not a valid plan"};
  }
  for (std::size_t other = 1; other < asked.size(); ++other)
    if (gives(asked[other], found)) {
      const std::string what = past_buffers(asked[other], found);
      if (!what.empty()) return {Culprit::builder, what};
      return {Culprit::planner, "the planner's other kernel gives these buffers for this call"};
    }
  for (const Mistake& mistake : likely_mistakes(call)) {
    PlannerCall question = call;
    mistake.ask(question);
    if (either_gives(question.input, found)) return {Culprit::builder, mistake.sentence};
  }
  if (const std::string words = damage(asked, found); !words.empty())
    return {Culprit::stale, words};
  return {
      Culprit::stale,
      "no planner gives these buffers for this batch, nor for one that differs in heads, rows, "
      "dtype, page size, mask or architecture, lacks requests, or is a few steps older: they are "
      "of another step, or damaged"};
}

}  // namespace mla::dump

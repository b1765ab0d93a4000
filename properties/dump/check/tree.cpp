#include "properties/dump/check/tree.hpp"

#include <algorithm>
#include <string>
#include <variant>

#include "core/say.hpp"
#include "properties/dump/blame/blame.hpp"
#include "properties/dump/blame/differences.hpp"
#include "properties/dump/check/steps.hpp"

namespace mla::dump {
namespace {

constexpr const char* kTree = "the planner of this AITER";

// The plan of a decode step that can be read, and whose batch is right.
const Planning* planned_of(const Dump& dump) {
  const auto* step = std::get_if<DecodeDump>(&dump.step);
  if (step == nullptr || !step->planned.plan || !*step->planned.plan) return nullptr;
  return &step->planned;
}

// "work 3 kv_end is 100, and 99 in its plan"
std::string first_words(const std::vector<Difference>& words) {
  const std::string all = few_words(words);
  const Difference& first = words.front();
  return all.empty() ? say("first in ", first.word, ": ", first.found, ", and ", first.planned,
                           " in its plan")
                     : all;
}

}  // namespace

std::optional<Arch> planned_arch(const Dump& dump) {
  const Planning* planned = planned_of(dump);
  if (planned == nullptr) return std::nullopt;
  return planned->call.input.key.arch;
}

void hold_against(const plan::StepPlanner& planner, const Dump& dump, Answer& answer) {
  const Planning* planned = planned_of(dump);
  const bool no_batch = std::any_of(answer.findings.begin(), answer.findings.end(),
                                    [](const Finding& f) { return f.rule == kBatchRule; });
  if (planned == nullptr || no_batch) return;
  const FoundPlan& found = **planned->plan;
  const auto plan = planner.plan(planned->call.input, found.sizes(), 0);
  if (!plan) {
    answer.notes.push_back(say(kTree, " gives no plan for this call: ", plan.error().message));
    return;
  }
  const std::vector<Difference> words = differences(*plan, found);
  if (!words.empty()) {
    answer.notes.push_back(say("not the plan of this AITER: ", first_words(words)));
    return;
  }
  answer.notes.push_back(say(kTree, " gives these buffers for this call"));
  if (answer.culprit == name(Culprit::stale))
    accuse(answer, Culprit::planner,
           say(kTree, " gives these buffers for this call, and they are not a valid plan"));
}

}  // namespace mla::dump

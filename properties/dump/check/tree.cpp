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

// The same of a prefill step.
const PrefillPlan* prefill_of(const Dump& dump) {
  const auto* step = std::get_if<PrefillDump>(&dump.step);
  return step == nullptr || !step->planned ? nullptr : &*step->planned;
}

// Nothing where the dump has no plan that a planner may be asked about.
std::optional<Result<plan::Plan>> planned_by(const plan::StepPlanner& planner, const Dump& dump) {
  if (const Planning* decode = planned_of(dump))
    return planner.plan(decode->call.input, (*decode->plan)->sizes(), 0);
  if (const PrefillPlan* prefill = prefill_of(dump))
    return planner.plan_prefill(prefill->call.input, prefill->found.sizes());
  return std::nullopt;
}

const FoundPlan& found_in(const Dump& dump) {
  const Planning* decode = planned_of(dump);
  return decode != nullptr ? **decode->plan : prefill_of(dump)->found;
}

// What the planner would be asked to read past the end of; or to write: that of prefill steps,
// which runs on the host, where nothing guards its memory.
bool unsafe(const Dump& dump, const Answer& answer) {
  const bool on_host = prefill_of(dump) != nullptr;
  return std::any_of(answer.findings.begin(), answer.findings.end(), [on_host](const Finding& f) {
    return f.rule == kBatchRule || (on_host && f.rule == kBufferRule);
  });
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
  if (const Planning* planned = planned_of(dump)) return planned->call.input.key.arch;
  if (const PrefillPlan* planned = prefill_of(dump)) return planned->call.arch;
  return std::nullopt;
}

void hold_against(const plan::StepPlanner& planner, const Dump& dump, Answer& answer) {
  if (unsafe(dump, answer)) return;
  const auto asked = planned_by(planner, dump);
  if (!asked) return;
  const FoundPlan& found = found_in(dump);
  const Result<plan::Plan>& plan = *asked;
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

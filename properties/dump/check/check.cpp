#include "properties/dump/check/check.hpp"

#include <string>
#include <utility>
#include <vector>

#include "core/plan/plan_check.hpp"
#include "properties/dump/check/steps.hpp"
#include "properties/dump/check/tensors.hpp"

namespace mla::dump {
namespace {

// After the lists were found right: what tensors were dumped must be those of the batch.
void check_dumped_tensors(const DecodeDump& dump, Answer& answer) {
  if (!answer.findings.empty() && answer.findings[0].rule == kBatchRule) return;
  const ListFindings found = check_tensors(dump);
  answer.notes.insert(answer.notes.end(), found.notes.begin(), found.notes.end());
  const std::vector<std::string> dtypes = check_dtypes(dump);
  for (const auto* const all : {&found.violations, &dtypes})
    for (const std::string& what : *all) answer.findings.push_back({kBatchRule, what});
  if (found.violations.empty() && dtypes.empty()) return;
  answer.not_checked.clear();
  if (answer.culprit.empty())
    accuse(answer, Culprit::builder,
           dtypes.empty() ? "tensors and lists are not those of one batch"
                          : "tensors do not have the dtypes of the plan");
}

Result<Answer> check_plan_and_launch(const DecodeDump& dump) {
  auto answer = check_planned(dump.planned, dump.readable_launch());
  if (!answer || !dump.launch) return answer;
  if (dump.planned.plan && !answer->not_checked.empty()) return answer;
  if (!*dump.launch) return dump.launch->error();
  if (!dump.planned.plan)
    check_unplanned_launch(dump.planned, **dump.launch, *answer);
  else if (const MaybeError wrong = check_launch(dump.planned, **dump.launch, *answer))
    return *wrong;
  return answer;
}

Result<Answer> check_step(const DecodeDump& dump) {
  auto answer = check_plan_and_launch(dump);
  if (answer && !dump.tensors.empty() && answer->not_checked != kSparse)
    check_dumped_tensors(dump, *answer);
  return answer;
}

Result<Answer> check_step(const PrefillDump& dump) {
  return check_prefill(dump);
}

Result<Answer> check_step(const FaDump& /*dump*/) {
  Answer answer;
  answer.not_checked = "an FA step, which has no plan";
  return answer;
}

std::string known_defect(const std::string& rule) {
  if (rule == plan::name(plan::Rule::empty_work)) return "AITER-13";
  if (rule == plan::name(plan::Rule::hidden_rows)) return "BUG-012";
  return "";
}

}  // namespace

void accuse(Answer& answer, Culprit culprit, std::string sentence) {
  answer.culprit = name(culprit);
  answer.diagnosis = std::move(sentence);
}

Result<Answer> check(const Dump& dump) {
  auto answer = std::visit([](const auto& step) { return check_step(step); }, dump.step);
  if (answer) answer->name = dump.name;
  return answer;
}

MaybeError why_refused(const Answer& answer) {
  if (answer.findings.empty()) return std::nullopt;
  const Finding& first = answer.findings.front();
  if (first.rule == kBatchRule) return Error{ErrorCode::usage, first.what};
  if (first.rule == kKernelRule) return Error{ErrorCode::unsupported, first.what};
  return Error{ErrorCode::refused,
               "the original planner gives no valid plan for this call: " + first.what,
               known_defect(first.rule)};
}

}  // namespace mla::dump

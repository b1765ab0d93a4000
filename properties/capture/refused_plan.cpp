#include "properties/capture/refused_plan.hpp"

#include "core/plan/plan_check.hpp"

namespace mla::cli {
namespace {

std::string known_defect(const std::string& rule) {
  if (rule == plan::name(plan::Rule::empty_work)) return "AITER-13";
  if (rule == plan::name(plan::Rule::hidden_rows)) return "BUG-012";
  return "";
}

}  // namespace

Status why_refused(const PlanAnswer& answer) {
  if (answer.findings.empty()) return std::nullopt;
  const PlanFinding& first = answer.findings.front();
  if (first.rule == kBatchRule) return Error{ErrorCode::usage, first.what, ""};
  if (first.rule == kKernelRule) return Error{ErrorCode::unsupported, first.what, ""};
  return Error{ErrorCode::refused,
               "the original planner gives no valid plan for this call: " + first.what,
               known_defect(first.rule)};
}

}  // namespace mla::cli

#include "properties/cli/checked_plan.hpp"

#include <algorithm>

#include "core/plan/plan_check.hpp"
#include "core/shape/kernel_table.hpp"
#include "properties/cli/diagnose.hpp"
#include "properties/cli/planner_call.hpp"

namespace mla::cli {
namespace {

// What has to hold before a plan can be looked at, or a step be executed: both follow these lists.
std::vector<PlanFinding> check_lists(const PlannerCall& call) {
  std::vector<PlanFinding> out;
  const auto add = [&out](const std::string& what) { out.push_back({kBatchRule, what, -1}); };
  const auto check_indptr = [&](const char* key, const std::vector<std::int32_t>& list) {
    if (list.empty() || list[0] != 0)
      add(std::string(key) + (list.empty() ? " is empty" : " does not start at 0"));
    for (std::size_t i = 1; i < list.size(); ++i)
      if (list[i] < list[i - 1])
        add(std::string(key) + " runs backwards at request " + std::to_string(i - 1) + ": " +
            std::to_string(list[i - 1]) + " to " + std::to_string(list[i]));
  };
  check_indptr("seqlens_qo_indptr", call.qo_indptr);
  check_indptr("seqlens_kv_indptr", call.kv_indptr);
  const std::size_t requests = std::max<std::size_t>(call.qo_indptr.size(), 1) - 1;
  if (call.kv_indptr.size() != call.qo_indptr.size() || call.last_page_len.size() != requests) {
    add("seqlens_qo_indptr is for " + std::to_string(requests) +
        " requests, seqlens_kv_indptr has " + std::to_string(call.kv_indptr.size()) +
        " entries and kv_last_page_lens " + std::to_string(call.last_page_len.size()));
    return out;
  }
  const std::int64_t uniform = call.input.uniform_qo_len;
  for (std::size_t r = 0; r < requests; ++r) {
    const std::int64_t rows = call.qo_indptr[r + 1] - call.qo_indptr[r];
    if (uniform > 0 && rows != uniform)
      add("seqlens_qo_indptr gives request " + std::to_string(r) + " " + std::to_string(rows) +
          " rows, uni_seqlen_qo says " + std::to_string(uniform));
  }
  for (std::size_t r = 0; r < requests; ++r)
    if (call.last_page_len[r] < 1 || call.last_page_len[r] > call.input.page_size)
      add("kv_last_page_lens of request " + std::to_string(r) + " is " +
          std::to_string(call.last_page_len[r]) + " with pages of " +
          std::to_string(call.input.page_size));
  return out;
}

Result<plan::PlanCheckInput> check_input(const PlannerCall& call, const FoundPlan& found) {
  const plan::PlanInput& in = call.input;
  const auto shape = in.version == plan::PlannerVersion::v1_2 ? resolve_plan_shape(in.key)
                                                              : resolve_plan_shape_v11(in.key);
  if (!shape) return shape.error();
  const auto kernel = find_persistent_kernel(
      in.key.arch, in.key.dtype, in.key.heads_per_kv_head.count(), call.sizes.max_qo_len);
  return plan::PlanCheckInput{.plan = found.view(),
                              .qo_indptr = call.qo_indptr,
                              .kv_indptr = call.kv_indptr,
                              .last_page_len = call.last_page_len,
                              .shape = *shape,
                              .causal = in.causal,
                              .kernel_masks = !kernel || kernel->masks,
                              .page_size = in.page_size,
                              .max_qo_len = call.sizes.max_qo_len};
}

}  // namespace

Result<PlanAnswer> check_plan_object(const nlohmann::json& object, std::size_t place) {
  PlanAnswer answer;
  const auto given = object.find("name");
  answer.name = given != object.end() && given->is_string() ? given->get<std::string>()
                                                            : "plan " + std::to_string(place);
  const std::string format = object.value("format", nlohmann::json()).is_string()
                                 ? object["format"].get<std::string>()
                                 : std::string();
  if (format == "mla-testbed prefill 1" || object.contains("pages_kv_indptr") ||
      object.contains("context_lens")) {
    answer.not_checked = "a prefill plan";
    return answer;
  }
  if (format == "mla-testbed fa 1") {
    answer.not_checked = "an FA step, which has no plan";
    return answer;
  }
  const auto call = read_planner_call(object);
  if (!call) return call.error();
  if (call->input.topk >= 0) {
    answer.not_checked = "a sparse plan";
    return answer;
  }
  answer.findings = check_lists(*call);
  if (!answer.findings.empty()) {
    answer.culprit = name(Culprit::builder);
    answer.diagnosis = "the lists of the batch contradict each other, whatever the plan";
    return answer;
  }
  if (!has_plan(object)) {
    answer.not_checked = "there are no plan buffers";
    return answer;
  }
  const auto found = read_plan(object);
  if (!found) return found.error();
  const auto input = check_input(*call, *found);
  if (!input) return input.error();
  for (const plan::Violation& v : plan::plan_check(*input))
    answer.findings.push_back({std::string(plan::name(v.rule)), v.what, v.work});
  const Diagnosis diagnosis = diagnose(*call, *found, !answer.findings.empty());
  if (diagnosis.culprit == Culprit::none) return answer;
  answer.culprit = name(diagnosis.culprit);
  answer.diagnosis = diagnosis.sentence;
  return answer;
}

}  // namespace mla::cli

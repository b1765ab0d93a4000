#include "properties/capture/checked_plan.hpp"

#include <algorithm>
#include <utility>

#include "core/say.hpp"
#include "properties/capture/checked_launch.hpp"
#include "properties/capture/checked_lists.hpp"
#include "properties/capture/checked_prefill.hpp"
#include "properties/capture/diagnose.hpp"
#include "properties/capture/formats.hpp"
#include "properties/capture/judged_launch.hpp"
#include "properties/capture/launched_call.hpp"
#include "properties/capture/plan_notes.hpp"

namespace mla::cli {

Result<plan::PlanCheckInput> plan_check_input(const PlannerCall& call, const FoundPlan& found) {
  const plan::PlanInput& in = call.input;
  // Of the kernel, whichever planner made the plan: v1.0 and v1.1 fold heads in their own way, and
  // a launch knows the longest request even if the planner was not told of it.
  PlanKey key = in.key;
  key.max_qo_len = call.sizes.max_qo_len;
  const auto shape = resolve_plan_shape(key);
  if (!shape) return shape.error();
  const auto kernel = kernel_of(call);
  return plan::PlanCheckInput{
      .plan = found.view(),
      .qo_indptr = call.qo_indptr,
      .kv_indptr = call.kv_indptr,
      .last_page_len = call.last_page_len,
      .shape = *shape,
      .causal = in.causal,
      .cp_round_robin = in.cp_round_robin,
      .dealt = call.dealt,
      .kernel_masks = !kernel || kernel->masks,
      .page_size = in.page_size,
      .max_qo_len = call.sizes.max_qo_len,
      .most_pieces = std::max(in.key.compute_units.count(), call.sizes.num_kv_splits)};
}

namespace {

// The launch chooses the kernel. One that takes another is judged as such (judge_launch).
std::string no_kernel(const PlannerCall& call, const nlohmann::json& object) {
  const std::int64_t rows = call.sizes.max_qo_len;
  const PlanKey& key = call.input.key;
  if (key.kv_heads.count() != 1)
    return say("AITER's decode kernels take one KV head, num_heads_k is ", key.kv_heads.count());
  if (launches_another_kernel(call, object)) return {};
  const auto kernel = kernel_of(call);
  // What a launch says of ranks is judged with it.
  if (kernel && call.input.cp_round_robin && rows > 1 && !takes_ranks(*kernel) &&
      !object.contains("launch_cp_world_size"))
    return say("is_cp_round_robin is true, and there is no round-robin build of ", kernel->label,
               " on ", name(key.arch));
  if (kernel) return {};
  return say("no persistent kernel is right for ", key.heads_per_kv_head.count(), " heads, ", rows,
             " query rows, ", name(key.dtype.q), "/", name(key.dtype.kv), " on ", name(key.arch));
}

// AITER's wrapper folds heads by taking the rows of the batch in groups of max_seqlen_q.
std::string mixes_requests(const PlannerCall& call, std::int64_t fold_ratio) {
  const std::int64_t rows = call.sizes.max_qo_len;
  if (fold_ratio == 1 || rows == 1) return {};
  for (std::size_t r = 0; r + 1 < call.qo_indptr.size(); ++r)
    if (const std::int64_t own = call.qo_indptr[r + 1] - call.qo_indptr[r]; own != 0 && own != rows)
      return say("heads fold ", fold_ratio, " to 1 and max_seqlen_q is ", rows, ": request ", r,
                 " has ", own, " rows, so that AITER folds rows of several requests together");
  return {};
}

// The plan as it left the planner.
Result<PlanAnswer> check_planned(const nlohmann::json& object, std::size_t place) {
  PlanAnswer answer;
  const auto given = object.find("name");
  answer.name =
      given != object.end() && given->is_string() ? given->get<std::string>() : say("plan ", place);
  if (const Status bad = check_plan_format(object)) return *bad;
  if (is_prefill(object)) return check_prefill_object(object, answer.name);
  if (object.value("format", nlohmann::json()) == nlohmann::json(kFaFormat)) {
    answer.not_checked = "an FA step, which has no plan";
    return answer;
  }
  const auto call = read_planner_call(object);
  if (!call) return call.error();
  if (call->input.topk >= 0) {
    answer.not_checked = "a sparse plan";
    return answer;
  }
  const auto lists = check_lists(*call, object);
  if (!lists) return lists.error();
  answer.notes = lists->notes;
  for (const std::string& what : lists->violations) answer.findings.push_back({kBatchRule, what});
  if (!answer.findings.empty()) {
    answer.culprit = name(Culprit::builder);
    answer.diagnosis =
        "the lists of the batch are wrong or contradict each other, whatever the plan";
    return answer;
  }
  if (!has_plan(object)) {
    answer.not_checked = "there are no plan buffers";
    return answer;
  }
  // A list that is wrong was reported above. This one may be right, but is none of an engine.
  if (const Status bad = too_large(*call)) return *bad;
  const auto found = read_plan(object);
  if (!found) return found.error();
  const auto input = plan_check_input(*call, *found);
  if (!input) return input.error();
  for (std::string& note : plan_notes(*call, *input, object))
    answer.notes.push_back(std::move(note));
  const std::string shape = no_kernel(*call, object);
  if (!shape.empty()) answer.findings.push_back({kKernelRule, shape});
  const std::string mixed = mixes_requests(*call, input->shape.fold_ratio);
  if (!mixed.empty()) answer.findings.push_back({kKernelRule, mixed});
  for (const plan::Violation& v : plan::plan_check(*input))
    answer.findings.push_back({std::string(plan::name(v.rule)), v.what, v.work});
  if (answer.findings.empty())
    if (const std::string what = planner_overrun(*call, *found); !what.empty())
      answer.findings.push_back({kBufferRule, what});
  if (answer.findings.empty())
    if (std::string note = straddles(*call, *input); !note.empty())
      answer.notes.push_back(std::move(note));
  Diagnosis diagnosis{Culprit::builder, "it asked for a plan that no kernel takes"};
  if (shape.empty() && !mixed.empty())
    diagnosis.sentence = "folded heads need max_seqlen_qo rows in every request";
  else if (shape.empty())
    diagnosis = diagnose(*call, *found, !answer.findings.empty());
  if (diagnosis.culprit == Culprit::none) return answer;
  answer.culprit = name(diagnosis.culprit);
  answer.diagnosis = diagnosis.sentence;
  return answer;
}

}  // namespace

Result<PlanAnswer> check_plan_object(const nlohmann::json& object, std::size_t place) {
  auto answer = check_planned(object, place);
  if (!answer || is_prefill(object) || !has_launch(object)) return answer;
  if (!has_plan(object))
    if (const Status wrong = judge_unplanned(object, *answer)) return *wrong;
  if (!has_plan(object) || !answer->not_checked.empty()) return answer;
  const auto check = [place](const nlohmann::json& document) {
    return check_planned(document, place);
  };
  if (const Status wrong = judge_launch(object, check, *answer)) return *wrong;
  return answer;
}

}  // namespace mla::cli

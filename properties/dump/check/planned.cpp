#include <algorithm>
#include <utility>

#include "core/say.hpp"
#include "properties/dump/check/check.hpp"
#include "properties/dump/check/launch_arguments.hpp"
#include "properties/dump/check/lists.hpp"
#include "properties/dump/check/notes.hpp"
#include "properties/dump/check/schedule.hpp"
#include "properties/dump/check/steps.hpp"
#include "properties/dump/check/where.hpp"

namespace mla::dump {

Result<plan::PlanCheckInput> plan_check_input(const PlannerCall& call, const FoundPlan& found) {
  const plan::PlanInput& in = call.input;
  // Of the kernel, whichever planner made the plan: v1.0 and v1.1 fold heads in their own way, and
  // a launch knows the longest request even if the planner was not told of it.
  PlanKey key = in.key;
  const plan::SizeQuery sizes = call.sizes();
  key.max_qo_len = sizes.max_qo_len;
  const auto shape = resolve_plan_shape(key);
  if (!shape) return shape.error();
  const auto kernel = kernel_of(call);
  return plan::PlanCheckInput{
      .plan = found.view(),
      .qo_indptr = in.qo_indptr,
      .kv_indptr = in.kv_indptr,
      .last_page_len = in.last_page_len,
      .shape = *shape,
      .causal = in.causal,
      .cp_round_robin = in.cp_round_robin,
      .dealt = call.dealt(),
      .kernel_masks = !kernel || kernel->masks,
      .page_size = in.page_size,
      .max_qo_len = sizes.max_qo_len,
      .most_pieces = std::max(in.key.compute_units.count(), sizes.num_kv_splits)};
}

namespace {

// The launch chooses the kernel. One that takes another is judged as such (check_launch).
std::string no_kernel(const PlannerCall& call, const Launch* launch) {
  const std::int64_t rows = call.sizes().max_qo_len;
  const PlanKey& key = call.input.key;
  if (key.kv_heads.count() != 1)
    return say("AITER's decode kernels take one KV head, num_heads_k is ", key.kv_heads.count());
  if (launch != nullptr && launches_another_kernel(call, *launch)) return {};
  const auto kernel = kernel_of(call);
  // What a launch says of ranks is judged with it.
  if (kernel && call.input.cp_round_robin && rows > 1 && !takes_ranks(*kernel) && !call.ranks)
    return say("is_cp_round_robin is true, and there is no round-robin build of ", kernel->label,
               " on ", name(key.arch));
  if (kernel) return {};
  return say("no persistent kernel is right for ", key.heads_per_kv_head.count(), " heads, ", rows,
             " query rows, ", name(key.dtype.q), "/", name(key.dtype.kv), " on ", name(key.arch));
}

// AITER's wrapper folds heads by taking the rows of the batch in groups of max_seqlen_q.
std::string mixes_requests(const PlannerCall& call, std::int64_t fold_ratio) {
  const std::int64_t rows = call.sizes().max_qo_len;
  const auto starts = call.input.qo_indptr;
  if (fold_ratio == 1 || rows == 1) return {};
  for (std::size_t r = 0; r + 1 < starts.size(); ++r)
    if (const std::int64_t own = starts[r + 1] - starts[r]; own != 0 && own != rows)
      return say("heads fold ", fold_ratio, " to 1 and max_seqlen_q is ", rows, ": request ", r,
                 " has ", own, " rows, so that AITER folds rows of several requests together");
  return {};
}

// What is wrong with the plan of a batch that is right, and whose fault it is.
MaybeError check_plan(const Planning& planned, const Launch* launch, Answer& answer) {
  const PlannerCall& call = planned.call;
  // A list that is wrong was reported. This one may be right, but is none of an engine.
  if (const MaybeError bad = too_large(call)) return *bad;
  if (!*planned.plan) return planned.plan->error();
  const FoundPlan& found = **planned.plan;
  const auto input = plan_check_input(call, found);
  if (!input) return input.error();
  for (std::string& note : plan_notes(planned, launch, *input))
    answer.notes.push_back(std::move(note));
  const std::string shape = no_kernel(call, launch);
  if (!shape.empty()) answer.findings.push_back({kKernelRule, shape});
  const std::string mixed = mixes_requests(call, input->shape.fold_ratio);
  if (!mixed.empty()) answer.findings.push_back({kKernelRule, mixed});
  const auto violations = plan::plan_check(*input);
  answer.where = where_wrong(*input, violations);
  for (const plan::Violation& v : violations)
    answer.findings.push_back({std::string(plan::name(v.rule)), v.what, v.work});
  if (answer.findings.empty())
    if (const std::string what = overrun(call, found); !what.empty())
      answer.findings.push_back({kBufferRule, what});
  if (answer.findings.empty()) {
    for (std::string& note : work_notes(call, *input)) answer.notes.push_back(std::move(note));
    return std::nullopt;
  }
  Diagnosis diagnosis{Culprit::builder, "it asked for a plan that no kernel takes"};
  if (shape.empty() && !mixed.empty())
    diagnosis.sentence = "folded heads need max_seqlen_qo rows in every request";
  else if (shape.empty())
    diagnosis = blame(call, found);
  accuse(answer, diagnosis.culprit, diagnosis.sentence);
  return std::nullopt;
}

// Page ids may be known of the launch alone.
void hold_against_schedule(const Planning& planned, const Launch* launch, Answer& answer) {
  const bool has_ids = planned.cache.kv_indices.has_value() || launch == nullptr;
  const std::optional<Words>& ids = has_ids ? planned.cache.kv_indices : launch->kv_indices;
  const bool enough = ids && std::ssize(*ids) >= planned.call.input.kv_indptr.back();
  const ListFindings found =
      check_schedule(*planned.schedule, planned.call, enough ? &*ids : nullptr);
  answer.notes.insert(answer.notes.end(), found.notes.begin(), found.notes.end());
  for (const std::string& what : found.violations) answer.findings.push_back({kScheduleRule, what});
  if (!found.violations.empty())
    accuse(answer, Culprit::builder,
           "its lists agree with each other, and are not those of the scheduler's step");
}

}  // namespace

Result<Answer> check_planned(const Planning& planned, const Launch* launch) {
  Answer answer;
  if (planned.call.input.topk >= 0) {
    answer.not_checked = kSparse;
    return answer;
  }
  const auto lists = check_lists(planned.call, planned.cache);
  if (!lists) return lists.error();
  answer.notes = lists->notes;
  for (const std::string& what : lists->violations) answer.findings.push_back({kBatchRule, what});
  if (!answer.findings.empty()) {
    accuse(answer, Culprit::builder,
           "the lists of the batch are wrong or contradict each other, whatever the plan");
    return answer;
  }
  if (planned.schedule) hold_against_schedule(planned, launch, answer);
  if (!answer.findings.empty()) return answer;
  if (!planned.plan) {
    answer.not_checked = "there are no plan buffers";
    return answer;
  }
  if (const MaybeError wrong = check_plan(planned, launch, answer)) return *wrong;
  return answer;
}

}  // namespace mla::dump

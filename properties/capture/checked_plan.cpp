#include "properties/capture/checked_plan.hpp"

#include <algorithm>
#include <utility>

#include "core/plan/tile_straddle.hpp"
#include "core/say.hpp"
#include "core/shape/folded_rows.hpp"
#include "core/shape/kernel_table.hpp"
#include "properties/capture/checked_launch.hpp"
#include "properties/capture/checked_lists.hpp"
#include "properties/capture/checked_prefill.hpp"
#include "properties/capture/diagnose.hpp"
#include "properties/capture/formats.hpp"
#include "properties/capture/judged_launch.hpp"
#include "properties/capture/launched_call.hpp"

namespace mla::cli {

namespace {

std::optional<KernelEntry> kernel_of(const PlannerCall& call) {
  const PlanKey& key = call.input.key;
  return find_persistent_kernel(key.arch, key.dtype, key.heads_per_kv_head.count(),
                                call.sizes.max_qo_len);
}

}  // namespace

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
      .kernel_masks = !kernel || kernel->masks,
      .page_size = in.page_size,
      .max_qo_len = call.sizes.max_qo_len,
      .most_pieces = std::max(in.key.compute_units.count(), call.sizes.num_kv_splits)};
}

namespace {

// The launch chooses the kernel. One that takes another is judged as such (judge_launch).
std::string no_kernel(const PlannerCall& call, const nlohmann::json& object) {
  const std::int64_t rows = call.sizes.max_qo_len;
  if (kernel_of(call) || launches_another_kernel(call, object)) return {};
  const PlanKey& key = call.input.key;
  return say("no persistent kernel for ", key.heads_per_kv_head.count(), " heads, ", rows,
             " query rows, ", name(key.dtype.q), "/", name(key.dtype.kv), " on ", name(key.arch));
}

// Folded heads whose rows the kernel looks up past the end of the list. What lies there decides,
// and steps of vLLM were right.
std::string misreads(const PlannerCall& call, std::int64_t fold_ratio) {
  const auto kernel = kernel_of(call);
  const std::string what =
      kernel ? misread_rows(*kernel, fold_ratio, call.sizes.max_qo_len) : std::string();
  return what.empty() ? what : what + ", for most requests past the end of the list";
}

// Where the planner is told of no mask: SGLang plans so for causal models. A kernel that masks all
// the same is right for these only, one that relies on a causal plan never masks. Empty elsewhere.
std::string planned_unmasked(const PlannerCall& call) {
  const std::int64_t rows = call.sizes.max_qo_len;
  const auto kernel = kernel_of(call);
  if (call.input.causal || rows <= 1 || !kernel || kernel->non_causal) return {};
  return say("is_causal is false with up to ", rows, " rows a request, and ", kernel->label,
             kernel->masks
                 ? " masks several rows causally all the same: right for a causal model only"
                 : " masks only what a causal plan leaves out: right for no causal model");
}

// Pieces of which some row sees no key, where the planner is told of no mask and the kernel masks.
std::string hidden_pieces(const PlannerCall& call, plan::PlanCheckInput input) {
  const auto kernel = kernel_of(call);
  if (call.input.causal || !kernel || kernel->non_causal || !kernel->masks) return {};
  input.causal = true;
  std::int64_t count = 0;
  std::string first;
  for (const plan::Violation& v : plan::plan_check(input))
    if (v.rule == plan::Rule::hidden_rows && count++ == 0) first = v.what;
  if (count == 0) return {};
  return first + (count > 1 ? say(", and ", count - 1, " works more") : std::string());
}

// Works of a valid plan that the kernel gets wrong. Empty without one.
std::string straddles(const PlannerCall& call, const plan::PlanCheckInput& input) {
  const auto kernel = kernel_of(call);
  if (!kernel || kernel->label != "a16w16 qh64_qseqlen1_v3") return {};
  const std::vector<plan::StraddledWork> works = straddled_works(input);
  if (works.empty()) return {};
  const auto& [index, work, seen] = works.front();
  const std::string more =
      works.size() > 1 ? say(", and for ", works.size() - 1, " more") : std::string();
  return say(kernel->label, " is wrong for work ", index, " (request ", work.batch, ", rows ",
             work.q_begin, "..", work.q_end, ", of its ", seen.keys, " keys the first row sees ",
             seen.first, " and the last ", seen.last, ")", more, ": AITER-27 (docs/aiter.md)");
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
  if (std::string note = planned_unmasked(*call); !note.empty())
    answer.notes.push_back(std::move(note));
  if (std::string note = hidden_pieces(*call, *input); !note.empty())
    answer.notes.push_back(std::move(note));
  if (std::string note = misreads(*call, input->shape.fold_ratio); !note.empty())
    answer.notes.push_back(std::move(note));
  const std::string shape = no_kernel(*call, object);
  if (!shape.empty()) answer.findings.push_back({kKernelRule, shape});
  for (const plan::Violation& v : plan::plan_check(*input))
    answer.findings.push_back({std::string(plan::name(v.rule)), v.what, v.work});
  if (answer.findings.empty())
    if (std::string note = straddles(*call, *input); !note.empty())
      answer.notes.push_back(std::move(note));
  const Diagnosis diagnosis =
      shape.empty() ? diagnose(*call, *found, !answer.findings.empty())
                    : Diagnosis{Culprit::builder, "it asked for a plan that no kernel takes"};
  if (diagnosis.culprit == Culprit::none) return answer;
  answer.culprit = name(diagnosis.culprit);
  answer.diagnosis = diagnosis.sentence;
  return answer;
}

}  // namespace

Result<PlanAnswer> check_plan_object(const nlohmann::json& object, std::size_t place) {
  auto answer = check_planned(object, place);
  if (!answer || !answer->not_checked.empty() || is_prefill(object) || !has_launch(object))
    return answer;
  const auto check = [place](const nlohmann::json& document) {
    return check_planned(document, place);
  };
  if (const Status wrong = judge_launch(object, check, *answer)) return *wrong;
  return answer;
}

}  // namespace mla::cli

#include "properties/step/prefill/plan_rules.hpp"

#include <algorithm>

#include "core/say.hpp"

namespace mla::prop {
namespace {

using plan::kWorkItemWords;
using plan::WorkItem;

constexpr std::size_t kWorksNamed = 8;

}  // namespace

std::int64_t works_of(const SeenPlan& plan) {
  const auto capacity = static_cast<std::int64_t>(plan.work_info.size()) / kWorkItemWords;
  if (plan.work_indptr.empty()) return 0;
  return std::clamp<std::int64_t>(plan.work_indptr.back(), 0, capacity);
}

plan::PsCheckInput check_input_of(const PlanRulesInput& input, std::vector<std::int32_t>& keys) {
  const SeenPlan& seen = input.plan;
  keys.clear();
  for (std::size_t r = 0; r + 1 < seen.kv_indptr.size(); ++r)
    keys.push_back(seen.kv_indptr[r + 1] - seen.kv_indptr[r]);
  return {.plan = plan::PlanView(seen),
          .qo_indptr = seen.qo_indptr,
          .kv_indptr = seen.kv_indptr,
          .context_lens = keys,
          .heads = Heads(input.heads),
          .causal = input.causal,
          .partial_tiles = seen.num_partial_tiles};
}

std::optional<std::string> broken_rule(const PlanRulesInput& input) {
  std::vector<std::int32_t> keys;
  const auto violations = plan::ps_check(check_input_of(input, keys));
  if (violations.empty()) return std::nullopt;
  return violations.front().what;
}

std::vector<std::int64_t> prefill_works_of(const PrefillStep& step, std::int64_t row,
                                           std::int64_t head) {
  const std::int64_t kernel_head = step.shape.heads.position(head);
  std::vector<std::int64_t> works;
  for (std::int64_t w = 0; w < works_of(step.plan); ++w) {
    const WorkItem item = step.plan.work(w);
    if (item.q_begin <= row && row < item.q_end && item.first_head() == kernel_head)
      works.push_back(w);
  }
  return works;
}

std::vector<std::string> guilty_works(const PrefillStep& step, std::int64_t row,
                                      std::int64_t head) {
  const std::string path(name(step.shape.path));
  if (!step.metadata.fp8) {
    const auto& why = step.shape.fallback;
    return {"path " + path + (why.empty() ? "" : ": " + why.front())};
  }
  std::vector<std::string> lines{"path " + path};
  for (const std::int64_t w : prefill_works_of(step, row, head)) {
    if (lines.size() > kWorksNamed) break;
    const WorkItem item = step.plan.work(w);
    lines.push_back(say(
        "work ", w, ": request ", item.batch, ", rows ", range(item.q_begin, item.q_end), ", keys ",
        range(item.kv_begin, item.kv_end), ", ",
        item.partial_row < 0 ? "writes the output" : say("writes partial row ", item.partial_row)));
  }
  if (lines.size() == 1) lines.push_back(say("no work of the plan covers row ", row));
  return lines;
}

}  // namespace mla::prop

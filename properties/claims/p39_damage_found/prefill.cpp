// P39 for prefill: whichever word of a work or bound of a list is damaged, ps_check says so, and of
// a wrong number of partial tiles. Another order of the pieces of a merge is no damage.
#include <algorithm>

#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/prefill/plan_rules.hpp"
#include "properties/step/prefill/run.hpp"

namespace mla::prop {
namespace {

using plan::WorkItem;

struct PrefillTarget {
  const SeenPlan& plan;
  bool causal = true;
};

// `apply` says whether the work can have this damage.
struct PrefillDamage {
  const char* what;
  bool (*apply)(const PrefillTarget& target, WorkItem& item);
};

// Takes the last key that a row of the work sees from it.
bool lose_last_key(const PrefillTarget& t, WorkItem& w) {
  const auto r = static_cast<std::size_t>(w.batch);
  const std::int32_t first = t.plan.kv_indptr[r];
  const std::int32_t keys = t.plan.kv_indptr[r + 1] - first;
  const std::int32_t rows_after = t.plan.qo_indptr[r + 1] - w.q_end;
  const std::int32_t end = first + (t.causal ? keys - rows_after : keys);  // after that key
  if (end <= w.kv_begin || end > w.kv_end) return false;
  return w.kv_end = end - 1, true;
}

constexpr PrefillDamage kPrefillDamages[] = {
    {"without the last key that its last row sees", lose_last_key},
    {"of a request after the last one",
     [](const PrefillTarget& t, WorkItem& w) {
       return w.batch = static_cast<std::int32_t>(t.plan.qo_indptr.size()) - 1, true;
     }},
    {"of request -1", [](const PrefillTarget&, WorkItem& w) { return w.batch = -1, true; }},
    {"of a row after the last one",
     [](const PrefillTarget& t, WorkItem& w) {
       return w.q_end = t.plan.qo_indptr.back() + 1, true;
     }},
    {"of rows that run backwards",
     [](const PrefillTarget&, WorkItem& w) { return w.q_begin = w.q_end + 1, true; }},
    {"of keys that run backwards",
     [](const PrefillTarget&, WorkItem& w) { return w.kv_end = w.kv_begin - 1, true; }},
    {"of keys far away", [](const PrefillTarget&, WorkItem& w) { return w.kv_end = kFar, true; }},
    {"of a first key after its first",
     [](const PrefillTarget&, WorkItem& w) {
       if (w.kv_end - w.kv_begin < 2) return false;
       return ++w.kv_begin, true;
     }},
    {"with a partial row far away",
     [](const PrefillTarget&, WorkItem& w) { return w.partial_row = kFar, true; }},
    {"that writes partial rows where its tile is whole, or its output where it is cut",
     [](const PrefillTarget&, WorkItem& w) {
       return w.partial_row = w.partial_row < 0 ? 0 : -1, true;
     }},
    {"of head 200",
     [](const PrefillTarget&, WorkItem& w) { return w.heads = 200 | (201 << 16), true; }},
};

// The plan with one request more, of one row that sees no key: it needs no work.
void add_blind_request(SeenPlan& plan) {
  plan.qo_indptr.push_back(plan.qo_indptr.back() + 1);
  plan.kv_indptr.push_back(plan.kv_indptr.back());
}

void add_work(SeenPlan& plan, const WorkItem& item) {
  const auto words = static_cast<std::size_t>(works_of(plan) + 1) * plan::kWorkItemWords;
  plan.work_info.resize(std::max(plan.work_info.size(), words));
  plan.set_work(plan.work_indptr.back()++, item);
}

// `apply` says whether the plan has such a list.
struct SeenDamage {
  const char* what;
  bool (*apply)(SeenPlan& plan);
};

constexpr SeenDamage kSeenDamages[] = {
    {"no last work",
     [](SeenPlan& p) {
       const std::int32_t works = p.work_indptr.back();
       for (std::int32_t& end : p.work_indptr) end = std::min(end, works - 1);
       return true;
     }},
    {"many more works than work_info_set has",
     [](SeenPlan& p) { return p.work_indptr.back() += 1 << 24, true; }},
    {"one work more than work_info_set has",
     [](SeenPlan& p) {
       const std::size_t capacity = p.work_info.size() / plan::kWorkItemWords;
       return p.work_indptr.back() = static_cast<std::int32_t>(capacity + 1), true;
     }},
    {"slots that begin with work 1", [](SeenPlan& p) { return p.work_indptr.front() = 1, true; }},
    {"slots that run backwards",
     [](SeenPlan& p) {
       if (p.work_indptr.size() < 3) return false;
       return p.work_indptr[1] = p.work_indptr.back() + 1, true;
     }},
    {"a merge past the end of reduce_partial_map",
     [](SeenPlan& p) {
       return p.reduce_indptr.back() = static_cast<std::int32_t>(p.reduce_partial_map.size() + 1),
              true;
     }},
    {"two pieces of a tile in the same partial rows",
     [](SeenPlan& p) {
       if (p.reduce_indptr[1] < 2) return false;
       for (std::int64_t work = 0; work < works_of(p); ++work) {
         WorkItem item = p.work(work);
         if (item.partial_row != p.reduce_partial_map[1]) continue;
         item.partial_row = p.reduce_partial_map[0];
         p.set_work(work, item);
       }
       return p.reduce_partial_map[1] = p.reduce_partial_map[0], true;
     }},
    {"a work for a row that sees no key",
     [](SeenPlan& p) {
       add_blind_request(p);
       WorkItem item = p.work(0);
       item.batch = static_cast<std::int32_t>(p.qo_indptr.size()) - 2;
       item.q_begin = p.qo_indptr.end()[-2];
       item.q_end = p.qo_indptr.back();
       item.kv_begin = item.kv_end = p.kv_indptr.back();
       item.partial_row = -1;
       return add_work(p, item), true;
     }},
    {"a merge that names a piece twice",
     [](SeenPlan& p) {
       if (p.reduce_indptr[1] < 2) return false;
       return p.reduce_partial_map[1] = p.reduce_partial_map[0], true;
     }},
};

// A merge may name its pieces in any order.
SeenPlan with_merge_backwards(SeenPlan plan) {
  std::reverse(plan.reduce_partial_map.begin(),
               plan.reduce_partial_map.begin() + plan.reduce_indptr[1]);
  return plan;
}

}  // namespace

Outcome prefill_damage_found(Subject& subject) {
  const auto& run = subject.prefill();
  if (!run) return refusal(run.error());
  const PrefillStep& step = *run->steps.front();
  if (!step.metadata.fp8) return skipped("no plan on path flash");
  const std::int64_t works = works_of(step.plan);
  if (works == 0) return skipped("the plan has no work");
  SeenPlan roomy = step.plan;
  ++roomy.num_partial_tiles;
  const std::int64_t heads = step.config.kernel_heads.count();
  if (!broken_rule({roomy, heads, step.spec.causal}))
    return failed("a plan that merges fewer partial tiles than it says is valid for ps_check");
  if (const auto why = broken_rule({with_merge_backwards(step.plan), heads, step.spec.causal}))
    return failed("a plan with its first merge backwards is not valid for ps_check: " + *why);
  SeenPlan blind = step.plan;
  add_blind_request(blind);
  if (const auto why = broken_rule({blind, heads, step.spec.causal}))
    return failed("a plan beside a row that sees no key is not valid for ps_check: " + *why);
  for (const SeenDamage& damage : kSeenDamages) {
    SeenPlan plan = step.plan;
    if (damage.apply(plan) && !broken_rule({plan, heads, step.spec.causal}))
      return failed(say("a plan with ", damage.what, " is valid for ps_check"));
  }
  Random random(subject.spec(), "P39");
  for (const PrefillDamage& damage : kPrefillDamages) {
    SeenPlan plan = step.plan;
    const std::int64_t work = random.below(works);
    WorkItem item = plan.work(work);
    if (!damage.apply({step.plan, step.spec.causal}, item)) continue;
    plan.set_work(work, item);
    if (!broken_rule({plan, heads, step.spec.causal}))
      return failed(
          say("a plan whose work ", work, " is one ", damage.what, " is valid for ps_check"));
  }
  return passed();
}

}  // namespace mla::prop

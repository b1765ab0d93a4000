// P39: a plan that leads out of its buffers is a violation for plan_check and a fault of the
// launch, whichever word is damaged, and rows whose work is not damaged keep their bits.
//
// Each rule of plan_check is broken by itself as well (rule_damages.hpp).
// A request that is longer than the longest query is a violation for plan_check as well, and a page
// id outside the cache is a fault of the launch.
// A backend that follows such a word reads or writes somebody else's memory; one that drops it in
// silence hides a broken plan.
#include <algorithm>
#include <limits>
#include <utility>

#include "core/engine/run_decode.hpp"
#include "core/plan/plan_check.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/rule_damages.hpp"
#include "properties/claims/support.hpp"
#include "properties/step/compare.hpp"

namespace mla::prop {
namespace {

using plan::Plan;
using plan::WorkItem;

struct Target {
  Plan& plan;
  const DecodeMetadata& metadata;
  std::int64_t work = 0;
  std::int64_t kernel_rows = 0;
};

// `apply` says whether the plan has such a word. The damage of a work leaves other requests alone.
struct Damage {
  const char* what;
  bool of_work = false;
  bool (*apply)(const Target& target);
};

template <class Edit>
bool edit(const Target& t, Edit change) {
  WorkItem item = t.plan.work(t.work);
  if (!change(item)) return false;
  t.plan.set_work(t.work, item);
  return true;
}

constexpr std::int32_t kFar = std::numeric_limits<std::int32_t>::max() / 2;

constexpr Damage kDamages[] = {
    {"the request after the last one", true,
     [](const Target& t) {
       return edit(t, [&](WorkItem& w) {
         w.batch = static_cast<std::int32_t>(t.metadata.requests().count() *
                                             t.metadata.shape.fold_ratio());
         return true;
       });
     }},
    {"request -1", true,
     [](const Target& t) { return edit(t, [](WorkItem& w) { return w.batch = -1, true; }); }},
    {"a request far away", true,
     [](const Target& t) { return edit(t, [](WorkItem& w) { return w.batch = kFar, true; }); }},
    {"a request that was never written", true,
     [](const Target& t) {
       return edit(t, [](WorkItem& w) { return w.batch = plan::kPoison, true; });
     }},
    {"partial row -2", true,
     [](const Target& t) { return edit(t, [](WorkItem& w) { return w.partial_row = -2, true; }); }},
    {"a partial row far away", true,
     [](const Target& t) {
       return edit(t, [](WorkItem& w) { return w.partial_row = kFar, true; });
     }},
    {"a row after the last one", true,
     [](const Target& t) {
       return edit(t, [&](WorkItem& w) {
         return w.q_end = static_cast<std::int32_t>(t.kernel_rows + 1), true;
       });
     }},
    {"rows that run backwards", true,
     [](const Target& t) {
       return edit(t, [](WorkItem& w) { return w.q_begin = w.q_end + 1, true; });
     }},
    {"row -1", true,
     [](const Target& t) { return edit(t, [](WorkItem& w) { return w.q_begin = -1, true; }); }},
    {"pages that run backwards", true,
     [](const Target& t) {
       return edit(t, [](WorkItem& w) { return w.kv_end = w.kv_begin - 1, true; });
     }},
    {"page -1", true,
     [](const Target& t) {
       return edit(t, [](WorkItem& w) {
         if (w.kv_end <= w.kv_begin) return false;
         return w.kv_begin = -1, true;
       });
     }},
    {"a page past the end of kv_indices", true,
     [](const Target& t) {
       return edit(t, [&](WorkItem& w) {
         w.kv_end = static_cast<std::int32_t>(t.metadata.kv_indices.size() + 1);
         return true;
       });
     }},
    {"the record of another work", true,
     [](const Target& t) {
       const std::int64_t other = t.work == 0 ? 1 : t.work - 1;
       if (t.plan.works() < 2) return false;
       return t.plan.set_work(t.work, t.plan.work(other)), true;
     }},
    {"a slot that ends past the end of work_info_set", false,
     [](const Target& t) {
       const std::int64_t records = t.plan.work_info.size() / plan::kWorkItemWords;
       return t.plan.work_indptr.set(t.plan.work_indptr.size() - 1,
                                     static_cast<std::int32_t>(records + 1)),
              true;
     }},
    {"a slot that ends far past the end of work_info_set", false,
     [](const Target& t) {
       return t.plan.work_indptr.set(t.plan.work_indptr.size() - 1, kFar), true;
     }},
    {"slots that run backwards", false,
     [](const Target& t) { return t.plan.work_indptr.set(0, kFar), true; }},
    {"a slot that begins before work_info_set", false,
     [](const Target& t) { return t.plan.work_indptr.set(0, -1), true; }},
    {"a merge that ends past the end of reduce_partial_map", false,
     [](const Target& t) {
       return t.plan.reduce_indptr.set(
                  1, static_cast<std::int32_t>(t.plan.reduce_partial_map.size() + 1)),
              true;
     }},
    {"merges that run backwards", false,
     [](const Target& t) { return t.plan.reduce_indptr.set(0, kFar), true; }},
    {"a merge that begins before reduce_partial_map", false,
     [](const Target& t) { return t.plan.reduce_indptr.set(0, -1), true; }},
};

// The same in the lists of a tile that is merged, of which a plan may have none.
constexpr Damage kMergeDamages[] = {
    {"a merge into a row after the last one", false,
     [](const Target& t) {
       return t.plan.reduce_final_map.set(1, static_cast<std::int32_t>(t.kernel_rows + 1)), true;
     }},
    {"a merge into rows that run backwards", false,
     [](const Target& t) {
       return t.plan.reduce_final_map.set(0, t.plan.reduce_final_map.at(1) + 1), true;
     }},
    {"a merge into row -1", false,
     [](const Target& t) { return t.plan.reduce_final_map.set(0, -1), true; }},
    {"a merge into the rows of the one before", false,
     [](const Target& t) {
       if (t.plan.reduce_indptr.size() < 3 ||
           t.plan.reduce_indptr.at(2) - t.plan.reduce_indptr.at(1) < 2)
         return false;
       for (const std::int64_t i : {0, 1})
         t.plan.reduce_final_map.set(2 + i, t.plan.reduce_final_map.at(i));
       return true;
     }},
    {"a merge of partial row -1", false,
     [](const Target& t) { return t.plan.reduce_partial_map.set(0, -1), true; }},
    {"a merge of a partial row far away", false,
     [](const Target& t) { return t.plan.reduce_partial_map.set(1, kFar), true; }},
};

DecodeMetadata with(const DecodeMetadata& md, Plan plan, std::span<const std::int32_t> kv_indices) {
  return {.shape = md.shape,
          .qo_indptr = md.qo_indptr,
          .kv_indptr = md.kv_indptr,
          .kv_indices = kv_indices,
          .last_page_len = md.last_page_len,
          .kv_lens = md.kv_lens,
          .keyless_rows = md.keyless_rows,
          .plan = std::move(plan)};
}

// Rows of the launch that request `r` has, its leading ones left out.
std::int64_t rows_of(const DecodeMetadata& md, std::int64_t r) {
  const auto i = static_cast<std::size_t>(r);
  return std::max<std::int64_t>(md.qo_indptr[i + 1] - md.qo_indptr[i] - md.shape.leading_rows, 0);
}

// Rows of every request but the damaged ones keep their bits. Where a damaged one is the longest, a
// backend may take a kernel for fewer rows, which rounds otherwise: there they keep their bounds.
std::optional<std::string> others_change(Subject& subject, const DecodeResult& damaged,
                                         const std::vector<std::int64_t>& requests) {
  const DecodeMetadata& md = *subject.metadata();
  const auto is_damaged = [&](std::int64_t r) {
    return std::find(requests.begin(), requests.end(), r) != requests.end();
  };
  std::int64_t longest = 0;
  std::int64_t longest_damaged = 0;
  for (std::int64_t r = 0; r < md.requests().count(); ++r) {
    std::int64_t& most = is_damaged(r) ? longest_damaged : longest;
    most = std::max(most, rows_of(md, r));
  }
  std::int64_t row = 0;
  for (std::int64_t r = 0; r < md.requests().count(); ++r) {
    const std::int64_t rows = rows_of(md, r);
    const MatchedRows same{row, row, rows};
    row += rows;
    if (is_damaged(r)) continue;
    const std::int64_t heads = subject.spec().heads;
    auto why = bitwise_difference(*subject.result(), damaged, heads, std::span(&same, 1));
    if (why && longest_damaged > longest && subject.reference()) {
      why.reset();
      for (std::int64_t i = row - rows; i < row && !why; ++i)
        why = beyond_bounds(*subject.result(), damaged, {i, i}, heads, *subject.reference());
    }
    if (why) return why;
  }
  return std::nullopt;
}

// The launch of damaged metadata has a fault, and requests but the damaged ones keep their bits.
Outcome check_launch(Subject& subject, const DecodeMetadata& damaged, const std::string& name,
                     const std::vector<std::int64_t>& requests) {
  const auto result = run_decode(subject.backend(), {damaged, *subject.tensors()},
                                 {.schedule_seed = subject.spec().schedule_seed}, subject.hooks());
  if (!result && result.error().code != ErrorCode::fault) return passed();  // refused as a whole
  if (!result) return failed(name + " breaks the launch: " + result.error().message);
  if (result->faults.empty()) return failed(name + " is run without a fault");
  if (requests.empty()) return passed();
  if (const auto why = others_change(subject, *result, requests))
    return failed(name + " changes another request: " + *why);
  return passed();
}

// An entry of a request that names a page outside the cache.
Outcome check_page_id(Subject& subject, Random& random) {
  const DecodeMetadata& md = *subject.metadata();
  const KvCache& cache = subject.tensors()->cache;
  const std::int64_t page = md.shape.page_size;
  const std::int64_t request = random.below(md.requests().count());
  const auto r = static_cast<std::size_t>(request);
  if (rows_of(md, request) == 0 || md.kv_indptr[r] == md.kv_indptr[r + 1]) return passed();
  const std::int64_t entry = random.between(md.kv_indptr[r], md.kv_indptr[r + 1] - 1);
  const std::int64_t outside = random.pick(std::vector<std::int64_t>{
      -1, cache.first_slot / page - 1, kFar, ceil_div(cache.first_slot + cache.slots, page)});
  std::vector<std::int32_t> indices(md.kv_indices.begin(), md.kv_indices.end());
  indices[static_cast<std::size_t>(entry)] = static_cast<std::int32_t>(outside);
  return check_launch(subject, with(md, md.plan->clone(), indices),
                      say("page ", outside, " in kv_indices[", entry, "]"), {request});
}

// Rows without keys that the launch does not have, before its own: these are written all the same.
Outcome check_keyless(Subject& subject, Random& random) {
  const DecodeMetadata& md = *subject.metadata();
  const std::int64_t rows = md.rows().count();
  const RowRange bad = random.pick(std::vector<RowRange>{{rows, rows + 1}, {-1, 1}, {1, 0}});
  DecodeMetadata damaged = with(md, md.plan->clone(), md.kv_indices);
  damaged.keyless_rows.insert(damaged.keyless_rows.begin(), bad);
  constexpr std::int64_t kNobody = -1;  // no request is damaged
  return check_launch(subject, damaged,
                      say("a list with the keyless rows ", bad.begin, "..", bad.end, " of ", rows),
                      {kNobody});
}

Outcome check(Subject& subject, const Damage& damage, std::int64_t work) {
  const DecodeMetadata& md = *subject.metadata();
  Plan plan = md.plan->clone();
  const std::int64_t fold = md.shape.fold_ratio();
  std::vector<std::int64_t> requests = {md.plan->work(work).batch / fold};
  if (!damage.apply({plan, md, work, md.rows().count() * fold})) return passed();
  requests.push_back(plan.work(work).batch / fold);
  if (plan == *md.plan) return failed(say("a plan with ", damage.what, " equals the plan without"));
  const DecodeMetadata damaged = with(md, std::move(plan), md.kv_indices);
  const std::string name =
      say("a plan with ", damage.what, damage.of_work ? say(" in work ", work) : "");
  if (plan::plan_check(check_input_of(damaged)).empty())
    return failed(name + " is valid for plan_check");
  if (!damage.of_work) requests.clear();  // it may concern all
  return check_launch(subject, damaged, name, requests);
}

// A merge may name its pieces in any order.
Outcome check_merge_backwards(const DecodeMetadata& md) {
  Plan plan = md.plan->clone();
  const std::int64_t pieces = plan.reduce_indptr.at(1);
  for (std::int64_t i = 0; i < pieces; ++i)
    plan.reduce_partial_map.set(i, md.plan->reduce_partial_map.at(pieces - 1 - i));
  const auto violations =
      plan::plan_check(check_input_of(with(md, std::move(plan), md.kv_indices)));
  if (violations.empty()) return passed();
  return failed("a plan with its first merge backwards is not valid for plan_check: " +
                violations[0].what);
}

Outcome check_longest_query(const DecodeMetadata& md) {
  plan::PlanCheckInput input = check_input_of(md);
  std::int64_t longest = 0;
  for (std::size_t r = 0; r + 1 < input.qo_indptr.size(); ++r)
    longest = std::max<std::int64_t>(longest, input.qo_indptr[r + 1] - input.qo_indptr[r]);
  input.max_qo_len = longest - 1;
  if (longest == 0 || !plan::plan_check(input).empty()) return passed();
  return failed(say("a plan for at most ", longest - 1, " rows a request, of which one has ",
                    longest, ", is valid for plan_check"));
}

Outcome decode_damage_found(Subject& subject) {
  const auto& result = subject.result();
  if (!result) return refusal(result.error());
  const auto& md = *subject.metadata();
  // Not every backend can leave out a part of a launch without a plan.
  if (!md.plan) return skipped("the step has no plan");
  if (md.plan->works() == 0) return skipped("the plan has no work");
  Random random(subject.spec(), "P39");
  if (Outcome outcome = check_page_id(subject, random); outcome.verdict != Verdict::pass)
    return outcome;
  if (Outcome outcome = check_keyless(subject, random); outcome.verdict != Verdict::pass)
    return outcome;
  if (Outcome outcome = check_longest_query(md); outcome.verdict != Verdict::pass) return outcome;
  if (md.plan->reduce_indptr.at(1) > 1)
    if (Outcome outcome = check_merge_backwards(md); outcome.verdict != Verdict::pass)
      return outcome;
  const std::int64_t work = random.below(md.plan->works());
  if (const auto why = rule_overlooked(md, work)) return failed(*why);
  const Damage& damage = kDamages[random.below(std::ssize(kDamages))];
  Outcome outcome = check(subject, damage, work);
  if (outcome.verdict != Verdict::pass || md.plan->reduce_indptr.at(1) < 2) return outcome;
  return check(subject, kMergeDamages[random.below(std::ssize(kMergeDamages))], work);
}

}  // namespace

constexpr Property kP39{"P39", "damage_found",
                        "A damaged word of a plan or a page id outside the cache is found, and "
                        "changes no other request.",
                        by_kind<decode_damage_found, prefill_damage_found, nullptr>,
                        PrefillSteps::fp8};

}  // namespace mla::prop

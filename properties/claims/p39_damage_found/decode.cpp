// P39: a plan that leads out of its buffers is a violation for plan_check and a fault of the
// launch, whichever word is damaged, and rows whose work is not damaged keep their bits.
//
// The rows of a work that must not run come out as NaN, never as numbers that look like a result
// (damaged_launch.hpp). A request that is longer than the longest query is a violation for
// plan_check as well, and a page id outside the cache is a fault of the launch. A backend that
// follows such a word reads or writes memory that is not its own; one that drops it in silence
// hides a broken plan.
#include <algorithm>
#include <utility>

#include "core/plan/plan_check.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/damaged_launch.hpp"
#include "properties/claims/support/support.hpp"

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

// Which requests a damage concerns: it leaves all others alone.
enum class Concerns : std::uint8_t {
  dropped_work,  // that of the target, which must not run
  keyless_work,  // that of the target, which runs without a key
  first_slot,
  last_slot,
  first_cut_work,
  first_tile,
  second_tile,
  two_tiles,
};

// `apply` says whether the plan has such a word; `words` are those of a fault.
struct ListDamage {
  const char* what;
  Concerns concerns = Concerns::dropped_work;
  bool (*apply)(const Target& target);
  const char* words = "";
  [[nodiscard]] bool of_work() const { return concerns <= Concerns::keyless_work; }
};

template <class Edit>
bool edit(const Target& t, Edit change) {
  WorkItem item = t.plan.work(t.work);
  if (!change(item)) return false;
  t.plan.set_work(t.work, item);
  return true;
}

// The first partial row of so many that end one row after the last one; backends count as many for
// each entry of reduce_partial_map as the longest request has.
std::int32_t row_too_far(const Target& t, std::int64_t rows) {
  return static_cast<std::int32_t>(t.plan.reduce_partial_map.size() * t.metadata.shape.max_qo_len -
                                   rows + 1);
}

// The first work that is a piece of a cut tile; -1: none.
std::int64_t first_cut_work(const Plan& plan) {
  for (std::int64_t w = 0; w < plan.works(); ++w)
    if (plan.work(w).partial_row >= 0) return w;
  return -1;
}

constexpr ListDamage kListDamages[] = {
    {"the request after the last one", Concerns::dropped_work,
     [](const Target& t) {
       return edit(t, [&](WorkItem& w) {
         w.batch = static_cast<std::int32_t>(t.metadata.requests().count() *
                                             t.metadata.shape.fold_ratio());
         return true;
       });
     }},
    {"request -1", Concerns::dropped_work,
     [](const Target& t) { return edit(t, [](WorkItem& w) { return w.batch = -1, true; }); }},
    {"a request far away", Concerns::dropped_work,
     [](const Target& t) { return edit(t, [](WorkItem& w) { return w.batch = kFar, true; }); }},
    {"a request that was never written", Concerns::dropped_work,
     [](const Target& t) {
       return edit(t, [](WorkItem& w) { return w.batch = plan::kPoison, true; });
     }},
    {"partial row -2", Concerns::dropped_work,
     [](const Target& t) { return edit(t, [](WorkItem& w) { return w.partial_row = -2, true; }); }},
    {"a partial row far away", Concerns::dropped_work,
     [](const Target& t) {
       return edit(t, [](WorkItem& w) { return w.partial_row = kFar, true; });
     }},
    {"a partial row that ends one row after the last one", Concerns::dropped_work,
     [](const Target& t) {
       return edit(t, [&](WorkItem& w) {
         w.partial_row = row_too_far(t, w.q_end - w.q_begin);
         return w.partial_row >= 0;
       });
     },
     "partial rows"},
    {"a row after the last one", Concerns::dropped_work,
     [](const Target& t) {
       return edit(t, [&](WorkItem& w) {
         return w.q_end = static_cast<std::int32_t>(t.kernel_rows + 1), true;
       });
     }},
    {"rows that run backwards", Concerns::dropped_work,
     [](const Target& t) {
       return edit(t, [](WorkItem& w) { return w.q_begin = w.q_end + 1, true; });
     }},
    {"row -1", Concerns::dropped_work,
     [](const Target& t) { return edit(t, [](WorkItem& w) { return w.q_begin = -1, true; }); }},
    {"pages that run backwards", Concerns::keyless_work,
     [](const Target& t) {
       return edit(t, [](WorkItem& w) { return w.kv_end = w.kv_begin - 1, true; });
     }},
    {"page -1", Concerns::dropped_work,
     [](const Target& t) {
       return edit(t, [](WorkItem& w) {
         if (w.kv_end <= w.kv_begin) return false;
         return w.kv_begin = -1, true;
       });
     }},
    {"a page past the end of kv_indices", Concerns::dropped_work,
     [](const Target& t) {
       return edit(t, [&](WorkItem& w) {
         w.kv_end = static_cast<std::int32_t>(t.metadata.kv_indices.size() + 1);
         return true;
       });
     }},
    {"the record of another work", Concerns::dropped_work,
     [](const Target& t) {
       const std::int64_t other = t.work == 0 ? 1 : t.work - 1;
       if (t.plan.works() < 2) return false;
       return t.plan.set_work(t.work, t.plan.work(other)), true;
     }},
    {"a slot that ends past the end of work_info_set", Concerns::last_slot,
     [](const Target& t) {
       const std::int64_t records = t.plan.work_info.size() / plan::kWorkItemWords;
       return t.plan.work_indptr.set(t.plan.work_indptr.size() - 1,
                                     static_cast<std::int32_t>(records + 1)),
              true;
     }},
    {"a slot that ends far past the end of work_info_set", Concerns::last_slot,
     [](const Target& t) {
       return t.plan.work_indptr.set(t.plan.work_indptr.size() - 1, kFar), true;
     }},
    {"slots that run backwards", Concerns::first_slot,
     [](const Target& t) { return t.plan.work_indptr.set(0, kFar), true; }},
    {"a slot that begins before work_info_set", Concerns::first_slot,
     [](const Target& t) { return t.plan.work_indptr.set(0, -1), true; }},
    {"a merge that ends past the end of reduce_partial_map", Concerns::two_tiles,
     [](const Target& t) {
       return t.plan.reduce_indptr.set(
                  1, static_cast<std::int32_t>(t.plan.reduce_partial_map.size() + 1)),
              true;
     }},
    {"merges that run backwards", Concerns::first_tile,
     [](const Target& t) { return t.plan.reduce_indptr.set(0, kFar), true; }},
    {"a merge that begins before reduce_partial_map", Concerns::first_tile,
     [](const Target& t) { return t.plan.reduce_indptr.set(0, -1), true; }},
};

// The same in the lists of a tile that is merged, of which a plan may have none.
constexpr ListDamage kMergeDamages[] = {
    {"a merge into a row after the last one", Concerns::first_tile,
     [](const Target& t) {
       return t.plan.reduce_final_map.set(1, static_cast<std::int32_t>(t.kernel_rows + 1)), true;
     }},
    {"a merge into rows that run backwards", Concerns::first_tile,
     [](const Target& t) {
       return t.plan.reduce_final_map.set(0, t.plan.reduce_final_map.at(1) + 1), true;
     }},
    {"a merge into row -1", Concerns::first_tile,
     [](const Target& t) { return t.plan.reduce_final_map.set(0, -1), true; }},
    {"a merge into the rows of the one before", Concerns::second_tile,
     [](const Target& t) {
       if (t.plan.reduce_indptr.size() < 3 ||
           t.plan.reduce_indptr.at(2) - t.plan.reduce_indptr.at(1) < 2)
         return false;
       for (const std::int64_t i : {0, 1})
         t.plan.reduce_final_map.set(2 + i, t.plan.reduce_final_map.at(i));
       return true;
     }},
    {"a merge of partial row -1", Concerns::first_tile,
     [](const Target& t) { return t.plan.reduce_partial_map.set(0, -1), true; }},
    {"a merge of a partial row far away", Concerns::first_tile,
     [](const Target& t) { return t.plan.reduce_partial_map.set(1, kFar), true; }},
    {"a merge of partial rows that end one row after the last one", Concerns::first_tile,
     [](const Target& t) {
       const std::int32_t first =
           row_too_far(t, t.plan.reduce_final_map.at(1) - t.plan.reduce_final_map.at(0));
       return t.plan.reduce_partial_map.set(0, first), first >= 0;
     },
     "partial rows"},
    {"a piece of a cut tile that writes the output itself", Concerns::first_cut_work,
     [](const Target& t) {
       const std::int64_t work = first_cut_work(t.plan);
       WorkItem item = t.plan.work(work);
       item.partial_row = -1;
       return t.plan.set_work(work, item), true;
     },
     "is already written by work"},
};

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
  StepLists lists(md);
  lists.kv_indices[static_cast<std::size_t>(entry)] = static_cast<std::int32_t>(outside);
  const DecodeMetadata damaged = lists.with(md, md.plan->clone());
  return judge_launch(subject, {.metadata = damaged,
                                .name = say("page ", outside, " in kv_indices[", entry, "]"),
                                .requests = {request}});
}

// A last page without a token, or with more than a page has.
Outcome check_last_page(Subject& subject, Random& random) {
  const DecodeMetadata& md = *subject.metadata();
  const std::int64_t request = random.below(md.requests().count());
  const auto r = static_cast<std::size_t>(request);
  const std::int64_t tokens = random.below(2) == 0 ? 0 : md.shape.page_size + 1;
  if (rows_of(md, request) == 0 || md.kv_indptr[r] == md.kv_indptr[r + 1]) return passed();
  StepLists lists(md);
  lists.last_page_len[r] = static_cast<std::int32_t>(tokens);
  const DecodeMetadata damaged =
      lists.with(md, md.plan ? std::optional(md.plan->clone()) : std::nullopt);
  return judge_launch(subject, {.metadata = damaged,
                                .name = say("a last page of ", tokens, " tokens"),
                                .requests = {request}});
}

std::vector<std::int64_t> concerned(const DecodeMetadata& md, Concerns concerns) {
  switch (concerns) {
    case Concerns::first_slot:
      return requests_of_slot(md, 0);
    case Concerns::last_slot:
      return requests_of_slot(md, md.plan->work_indptr.size() - 2);
    case Concerns::first_cut_work:
      return {md.plan->work(first_cut_work(*md.plan)).batch / md.shape.fold_ratio()};
    case Concerns::first_tile:
      return requests_of_tile(md, 0);
    case Concerns::second_tile:
      return requests_of_tile(md, 1);
    case Concerns::two_tiles: {
      std::vector<std::int64_t> both = requests_of_tile(md, 0);
      for (const std::int64_t r : requests_of_tile(md, 1)) both.push_back(r);
      return both;
    }
    default:
      return {};
  }
}

// Rows without keys that the launch does not have, before its own: these are written all the same.
Outcome check_keyless(Subject& subject, Random& random) {
  const DecodeMetadata& md = *subject.metadata();
  const std::int64_t rows = md.rows().count();
  const RowRange bad = random.pick(std::vector<RowRange>{{rows, rows + 1}, {-1, 1}, {1, 0}});
  StepLists lists(md);
  DecodeMetadata damaged = lists.with(md, md.plan->clone());
  damaged.keyless_rows.insert(damaged.keyless_rows.begin(), bad);
  constexpr std::int64_t kNobody = -1;  // no request is damaged
  return judge_launch(subject, {.metadata = damaged,
                                .name = say("a list with the keyless rows ", bad.begin, "..",
                                            bad.end, " of ", rows),
                                .requests = {kNobody}});
}

Outcome check(Subject& subject, const ListDamage& damage, std::int64_t work) {
  const DecodeMetadata& md = *subject.metadata();
  Plan plan = md.plan->clone();
  const std::int64_t fold = md.shape.fold_ratio();
  if (!damage.apply({plan, md, work, md.rows().count() * fold})) return passed();
  if (plan == *md.plan) return failed(say("a plan with ", damage.what, " equals the plan without"));
  std::vector<std::int64_t> requests = concerned(md, damage.concerns);
  const WorkItem before = md.plan->work(work);
  if (damage.of_work()) requests = {before.batch / fold, plan.work(work).batch / fold};
  const StepLists lists(md);
  const DecodeMetadata damaged = lists.with(md, std::move(plan));
  DamagedLaunch launch{
      .metadata = damaged,
      .name = say("a plan with ", damage.what, damage.of_work() ? say(" in work ", work) : ""),
      .requests = std::move(requests),
      .words = damage.words};
  if (plan::plan_check(check_input_of(damaged)).empty())
    return failed(launch.name + " is valid for plan_check");
  const RowRange rows{before.q_begin, before.q_end};
  if (damage.concerns == Concerns::dropped_work) launch.dropped = rows;
  if (damage.concerns == Concerns::keyless_work && before.partial_row < 0) launch.keyless = rows;
  return judge_launch(subject, launch);
}

// A merge may name its pieces in any order.
Outcome check_merge_backwards(const DecodeMetadata& md) {
  Plan plan = md.plan->clone();
  const std::int64_t pieces = plan.reduce_indptr.at(1);
  for (std::int64_t i = 0; i < pieces; ++i)
    plan.reduce_partial_map.set(i, md.plan->reduce_partial_map.at(pieces - 1 - i));
  const StepLists lists(md);
  const auto violations = plan::plan_check(check_input_of(lists.with(md, std::move(plan))));
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
  Random random(subject.spec(), "P39");
  if (Outcome outcome = check_last_page(subject, random);
      outcome.verdict != Verdict::pass || !md.plan)
    return outcome;
  if (md.plan->works() == 0) return skipped("the plan has no work");
  if (Outcome outcome = check_page_id(subject, random); outcome.verdict != Verdict::pass)
    return outcome;
  if (Outcome outcome = check_keyless(subject, random); outcome.verdict != Verdict::pass)
    return outcome;
  if (Outcome outcome = check_longest_query(md); outcome.verdict != Verdict::pass) return outcome;
  if (md.plan->reduce_indptr.at(1) > 1)
    if (Outcome outcome = check_merge_backwards(md); outcome.verdict != Verdict::pass)
      return outcome;
  const std::int64_t work = random.below(md.plan->works());
  const ListDamage& damage = kListDamages[random.below(std::ssize(kListDamages))];
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

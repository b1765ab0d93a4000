#include "properties/claims/record_damages.hpp"

#include <array>
#include <limits>

#include "core/engine/decode_builder.hpp"
#include "core/say.hpp"
#include "properties/claims/support.hpp"

namespace mla::prop {
namespace {

using plan::PlanBuffer;
using plan::Rule;
using plan::WorkItem;

// Stores the work as it is, its offset with it.
template <class Edit>
bool edit(Place& p, Edit change) {
  WorkItem item = p.item;
  change(item);
  p.plan.set_work(p.work, item);
  return true;
}

// The slot that ends after this work; -1: there is none.
std::int64_t slot_ending_at(const Place& p) {
  for (std::int64_t s = 1; s < p.plan.work_indptr.size(); ++s)
    if (p.plan.work_indptr.at(s) == p.work + 1) return s;
  return -1;
}

// Puts a work at the end of the slot that this one ends. There are works after it.
bool insert_after(Place& p, const WorkItem& inserted, std::int64_t times) {
  const std::int64_t works = p.plan.works();
  const std::int64_t slot = slot_ending_at(p);
  const std::int64_t room = p.plan.work_info.size() / plan::kWorkItemWords;
  if (slot < 0 || p.work + 1 >= works || works + times > room) return false;
  for (std::int64_t w = works; w > p.work + 1; --w)
    p.plan.set_work(w + times - 1, p.plan.work(w - 1));
  for (std::int64_t i = 1; i <= times; ++i) p.plan.set_work(p.work + i, inserted);
  for (std::int64_t s = slot; s < p.plan.work_indptr.size(); ++s)
    p.plan.work_indptr.set(s, p.plan.work_indptr.at(s) + static_cast<std::int32_t>(times));
  return true;
}

bool partial_row_in_use(const Place& p, std::int32_t row) {
  for (std::int64_t w = 0; w < p.plan.works(); ++w)
    if (p.plan.work(w).partial_row == row && p.plan.work(w).q_end > p.plan.work(w).q_begin)
      return true;
  return false;
}

constexpr RuleDamage kRecordDamages[] = {
    {"a request far away", Rule::work_record,
     [](Place& p) { return edit(p, [](WorkItem& i) { i.batch = kFar; }); }},
    {"a request that was never written", Rule::work_record,
     [](Place& p) { return edit(p, [](WorkItem& i) { i.batch = plan::kPoison; }); }},
    {"rows that run backwards", Rule::work_record,
     [](Place& p) { return edit(p, [](WorkItem& i) { i.q_begin = i.q_end + 1; }); }},
    {"rows from the lowest to the highest number", Rule::work_record,
     [](Place& p) {
       return edit(p, [](WorkItem& i) {
         i.q_begin = std::numeric_limits<std::int32_t>::min();
         i.q_end = std::numeric_limits<std::int32_t>::max();
       });
     }},
    {"a row of the request before", Rule::work_record,
     [](Place& p) {
       return edit(p, [&](WorkItem& i) { i.q_begin = static_cast<int>(p.request.q_begin - 1); });
     }},
    {"pages that run backwards", Rule::work_record,
     [](Place& p) { return edit(p, [](WorkItem& i) { i.kv_end = i.kv_begin - 1; }); }},
    {"a page of the request before", Rule::work_record,
     [](Place& p) {
       return edit(p, [&](WorkItem& i) { i.kv_begin = static_cast<int>(p.request.kv_begin - 1); });
     }},
    {"a last piece that says that three keys follow", Rule::work_record,
     [](Place& p) {
       if (!p.last_piece() || p.item.kv_begin >= p.item.kv_end) return false;
       return edit(p, [](WorkItem& i) { i.kv_offset += 3; });
     }},
    {"a work without rows before others of its slot", Rule::empty_work,
     [](Place& p) {
       if (p.last_of_slot() || p.item.kv_end <= p.item.kv_begin) return false;
       return edit(p, [](WorkItem& i) { i.q_end = i.q_begin; });
     }},
    {"a slot that ends far past the end of work_info_set", Rule::work_indptr,
     [](Place& p) {
       PlanBuffer& slots = p.plan.work_indptr;
       return slots.set(slots.size() - 1, static_cast<int>(p.plan.work_info.size())), true;
     }},
    {"merges that run backwards after the first", Rule::reduce_indptr,
     [](Place& p) {
       PlanBuffer& list = p.plan.reduce_indptr;
       for (std::int64_t i = 1; i + 1 < list.size(); ++i) {
         if (list.at(i + 1) >= p.plan.reduce_partial_map.size()) continue;
         return list.set(i, list.at(i + 1) + 1), true;
       }
       return false;
     }},
    {"two pieces in the first partial rows", Rule::partial_rows,
     [](Place& p) {
       return p.item.partial_row > 0 && p.rows() > 0 && partial_row_in_use(p, 0) &&
              p.move_partials(0);
     }},
};

constexpr RuleDamage kLegalRecords[] = {
    {"a work without rows and keys that ends a slot", Rule::empty_work,
     [](Place& p) {
       WorkItem empty = p.item;
       empty.partial_row = -1;
       empty.q_begin = empty.q_end;
       empty.kv_begin = empty.kv_end;
       ++empty.kv_offset;  // never read
       return insert_after(p, empty, 1);
     }},
    {"two works without rows after the last one of a slot", Rule::empty_work,
     [](Place& p) {
       WorkItem empty = p.item;
       empty.partial_row = -1;
       empty.q_begin = empty.q_end;
       return insert_after(p, empty, 2);
     }},
};

}  // namespace

std::span<const RuleDamage> record_damages() {
  return kRecordDamages;
}

std::span<const RuleDamage> legal_empty_works() {
  return kLegalRecords;
}

std::optional<std::string> second_bad_work_unnamed(const DecodeMetadata& metadata,
                                                   std::int64_t from) {
  const std::int64_t works = metadata.plan->works();
  if (works < 2) return std::nullopt;
  const std::array<std::int64_t, 2> bad = {std::min(from, works - 2),
                                           std::min(from, works - 2) + 1};
  for (const bool no_request : {true, false}) {
    plan::Plan plan = metadata.plan->clone();
    for (const std::int64_t work : bad) {
      WorkItem item = plan.work(work);
      if (no_request)
        item.batch = -1;
      else
        item.q_begin = item.q_end + 1;
      plan.set_work(work, item);
    }
    plan::PlanCheckInput input = check_input_of(metadata);
    input.plan = plan.view();
    const auto found = plan::plan_check(input);
    for (const std::int64_t work : bad)
      if (std::ranges::none_of(found, [work](const plan::Violation& v) {
            return v.rule == Rule::work_record && v.work == work;
          }))
        return say("works ", bad[0], " and ", bad[1], no_request ? " of no request" : "",
                   no_request ? "" : " have rows that run backwards", ": plan_check does not name ",
                   "work ", work);
  }
  return std::nullopt;
}

}  // namespace mla::prop

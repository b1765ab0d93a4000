#include <limits>

#include "tests/core/plan/plan_damages.hpp"

namespace mla::plan::test {
namespace {

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
  const std::int64_t room = p.plan.work_info.size() / kWorkItemWords;
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

// A piece of a tile that is merged; v1.0 lists single pieces as well.
bool merged(const Place& p) {
  return p.item.partial_row >= 0 && p.rows() > 0 && p.plan.reduce_indptr.at(1) >= 2;
}

constexpr PlanDamage kRecordDamages[] = {
    {"the request after the last one", Rule::work_record,
     [](Place& p) {
       const auto requests = static_cast<std::int64_t>(p.input.qo_indptr.size()) - 1;
       return edit(p, [&](WorkItem& i) {
         i.batch = static_cast<std::int32_t>(requests * p.input.shape.fold_ratio);
       });
     }},
    {"a request far away", Rule::work_record,
     [](Place& p) { return edit(p, [](WorkItem& i) { i.batch = kFar; }); }},
    {"a request that was never written", Rule::work_record,
     [](Place& p) { return edit(p, [](WorkItem& i) { i.batch = kPoison; }); }},
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
    {"rows past the end of its request", Rule::work_record,
     [](Place& p) {
       return edit(p, [&](WorkItem& i) { i.q_end = static_cast<int>(p.request.q_end + 5); });
     }},
    {"pages past the end of its request", Rule::work_record,
     [](Place& p) {
       return edit(p, [&](WorkItem& i) { i.kv_end = static_cast<int>(p.request.kv_end + 1); });
     }},
    {"an offset of one token more", Rule::work_record,
     [](Place& p) { return edit(p, [](WorkItem& i) { ++i.kv_offset; }); }},
    {"partial row -2", Rule::work_record,
     [](Place& p) { return edit(p, [](WorkItem& i) { i.partial_row = -2; }); }},
    {"a first page that is a block later", Rule::coverage,
     [](Place& p) {
       if (p.item.kv_end - p.item.kv_begin <= 16) return false;
       return edit(p, [](WorkItem& i) { i.kv_begin += 16; });
     }},
    {"a first page that is a block earlier", Rule::coverage,
     [](Place& p) {
       if (p.item.kv_begin - 16 < p.request.kv_begin) return false;
       return edit(p, [](WorkItem& i) { i.kv_begin -= 16; });
     }},
    {"a partial row far away", Rule::partial_rows,
     [](Place& p) { return merged(p) && edit(p, [](WorkItem& i) { i.partial_row = 9999; }); }},
    {"the first partial row, while its merge names another one", Rule::partial_rows,
     [](Place& p) {
       return merged(p) && p.item.partial_row > 0 && partial_row_in_use(p, 0) &&
              edit(p, [](WorkItem& i) { i.partial_row = 0; });
     }},
    {"a piece that writes the output itself", Rule::reduce_list,
     [](Place& p) { return merged(p) && edit(p, [](WorkItem& i) { i.partial_row = -1; }); }},
    {"a partial row far away after a piece that writes the output itself", Rule::partial_rows,
     [](Place& p) {
       const std::int64_t before = piece_before(p);
       if (!merged(p) || before < 0) return false;
       WorkItem other = p.plan.work(before);
       other.partial_row = -1;
       p.plan.set_work(before, other);
       return edit(p, [](WorkItem& i) { i.partial_row = 9999; });
     }},
    {"slots that begin with work 1", Rule::work_indptr,
     [](Place& p) { return p.plan.work_indptr.set(0, 1), true; }},
    {"slots that run backwards", Rule::work_indptr,
     [](Place& p) {
       PlanBuffer& slots = p.plan.work_indptr;
       if (slots.size() < 3) return false;
       return slots.set(slots.size() - 2, static_cast<int>(p.plan.works() + 1)), true;
     }},
    {"a merge far past the end of reduce_partial_map", Rule::reduce_indptr,
     [](Place& p) { return p.plan.reduce_indptr.set(1, 99999), true; }},
    {"merges that begin with piece 1", Rule::reduce_indptr,
     [](Place& p) { return p.plan.reduce_indptr.set(0, 1), true; }},
    {"a merge of a partial row that no piece has", Rule::reduce_list,
     [](Place& p) {
       if (p.plan.reduce_indptr.at(1) < 2) return false;
       std::int32_t unused = 0;
       while (partial_row_in_use(p, unused)) ++unused;
       return p.plan.reduce_partial_map.set(0, unused), true;
     }},
    {"a merge into rows past those of its tile", Rule::reduce_list,
     [](Place& p) {
       PlanBuffer& rows = p.plan.reduce_final_map;
       if (p.plan.reduce_indptr.at(1) < 2) return false;
       return rows.set(1, rows.at(1) + 40), true;
     }},
};

constexpr PlanDamage kLegalRecords[] = {
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

std::span<const PlanDamage> record_damages() {
  return kRecordDamages;
}

std::span<const PlanDamage> legal_empty_works() {
  return kLegalRecords;
}

}  // namespace mla::plan::test

#include <algorithm>
#include <numeric>

#include "tests/hip_backend/aiter/calibration/plan_changes.hpp"

namespace mla::hip::aiter::test {
namespace {

using plan::WorkItem;

std::vector<WorkItem> works_of(const PlanWords& plan) {
  std::vector<WorkItem> works;
  for (std::size_t w = 0; w < plan.works(); ++w) works.push_back(plan.work(w));
  return works;
}

// The works in slots: work i in slot slot_of[i], in their order.
PlanWords in_slots(const PlanWords& plan, const std::vector<WorkItem>& works,
                   const std::vector<std::size_t>& slot_of) {
  PlanWords out = plan;
  std::size_t next = 0;
  for (std::size_t slot = 0; slot + 1 < plan.work_indptr.size(); ++slot) {
    for (std::size_t w = 0; w < works.size(); ++w)
      if (slot_of[w] == slot) out.set_work(next++, works[w]);
    out.work_indptr[slot + 1] = static_cast<std::int32_t>(next);
  }
  return out;
}

void other_slots(const PlanWords& plan, std::mt19937_64& random, std::vector<PlanChange>& out) {
  const std::size_t slots = plan.work_indptr.size() - 1;
  std::vector<WorkItem> works = works_of(plan);
  const auto keep = [&](const char* what, const std::vector<std::size_t>& slot_of) {
    out.push_back({"other slots", what, in_slots(plan, works, slot_of)});
  };
  keep("all in the first slot", std::vector<std::size_t>(works.size(), 0));
  keep("all in the last slot", std::vector<std::size_t>(works.size(), slots - 1));
  std::vector<std::size_t> drawn(works.size());
  for (int i = 0; i < 3; ++i) {
    std::generate(drawn.begin(), drawn.end(), [&] { return random() % slots; });
    std::shuffle(works.begin(), works.end(), random);
    keep("drawn", drawn);
  }
}

// Moves the partial rows of every piece; `slabs` holds the new first row of each slab in the order
// of the old ones.
PlanWords with_slabs(const PlanWords& plan, const std::vector<std::int32_t>& slabs) {
  std::vector<std::int32_t> old;
  for (const WorkItem& item : works_of(plan))
    if (item.partial_row >= 0) old.push_back(item.partial_row);
  std::sort(old.begin(), old.end());
  const auto moved = [&](std::int32_t row) {
    const auto found = std::find(old.begin(), old.end(), row);
    return found == old.end() ? row : slabs[static_cast<std::size_t>(found - old.begin())];
  };
  PlanWords out = plan;
  for (std::size_t w = 0; w < plan.works(); ++w) {
    WorkItem item = plan.work(w);
    item.partial_row = moved(item.partial_row);
    out.set_work(w, item);
  }
  for (std::int32_t i = 0; i < plan.reduce_indptr.back(); ++i)
    out.reduce_partial_map[static_cast<std::size_t>(i)] =
        moved(plan.reduce_partial_map[static_cast<std::size_t>(i)]);
  return out;
}

void other_slabs(const PlanWords& plan, std::mt19937_64& random, std::vector<PlanChange>& out) {
  std::vector<std::int32_t> slabs;
  std::int32_t rows = 1;
  for (const WorkItem& item : works_of(plan)) {
    rows = std::max(rows, item.q_end - item.q_begin);
    if (item.partial_row >= 0) slabs.push_back(item.partial_row);
  }
  if (slabs.empty()) return;
  std::sort(slabs.begin(), slabs.end());
  std::vector<std::int32_t> shifted = slabs;
  for (std::int32_t& row : shifted) row += 1;
  out.push_back({"other slabs", "one row later", with_slabs(plan, shifted)});
  for (std::size_t i = 0; i < slabs.size(); ++i)
    shifted[i] = static_cast<std::int32_t>(slabs.size() - 1 - i) * rows;
  out.push_back({"other slabs", "in falling order", with_slabs(plan, shifted)});
  std::shuffle(shifted.begin(), shifted.end(), random);
  out.push_back({"other slabs", "drawn", with_slabs(plan, shifted)});
}

struct List {
  std::int32_t q_begin = 0;
  std::int32_t q_end = 0;
  std::vector<std::int32_t> rows;
};

std::vector<List> lists_of(const PlanWords& plan) {
  std::vector<List> lists;
  for (std::size_t i = 0; i + 1 < plan.reduce_indptr.size(); ++i) {
    const std::int32_t a = plan.reduce_indptr[i];
    const std::int32_t z = plan.reduce_indptr[i + 1];
    if (z == a) continue;
    lists.push_back({plan.reduce_final_map[2 * i],
                     plan.reduce_final_map[2 * i + 1],
                     {plan.reduce_partial_map.begin() + a, plan.reduce_partial_map.begin() + z}});
  }
  return lists;
}

PlanWords with_lists(const PlanWords& plan, const std::vector<List>& lists) {
  PlanWords out = plan;
  std::int32_t next = 0;
  for (std::size_t i = 0; i + 1 < out.reduce_indptr.size(); ++i) {
    if (i < lists.size()) {
      out.reduce_final_map[2 * i] = lists[i].q_begin;
      out.reduce_final_map[2 * i + 1] = lists[i].q_end;
      for (const std::int32_t row : lists[i].rows)
        out.reduce_partial_map[static_cast<std::size_t>(next++)] = row;
    }
    out.reduce_indptr[i + 1] = next;
  }
  return out;
}

void other_lists(const PlanWords& plan, std::mt19937_64& random, std::vector<PlanChange>& out) {
  const std::vector<List> lists = lists_of(plan);
  if (lists.empty()) return;
  const std::size_t entries = plan.reduce_indptr.size() - 1;
  const auto keep = [&](std::string_view family, const char* what, const std::vector<List>& to) {
    std::size_t rows = 0;
    for (const List& list : to) rows += list.rows.size();
    if (to.size() > entries || rows > plan.reduce_partial_map.size()) return;
    out.push_back({family, what, with_lists(plan, to)});
  };
  std::vector<List> changed = lists;
  for (List& list : changed) std::reverse(list.rows.begin(), list.rows.end());
  keep("list order", "every list backwards", changed);
  for (List& list : changed) std::shuffle(list.rows.begin(), list.rows.end(), random);
  keep("list order", "every list shuffled", changed);
  changed = lists;
  std::reverse(changed.begin(), changed.end());
  keep("list order", "the lists in the opposite order", changed);
  changed = lists;
  changed.insert(changed.begin(), {0, 1, {}});
  keep("list order", "an empty list first", changed);
  changed = lists;
  changed.push_back({0, 1, {0}});
  keep("lists more or less", "a list of one row more", changed);
  changed.back() = {2, 2, {0, 0}};
  keep("lists more or less", "a list for no rows more", changed);
  changed.back() = lists.front();
  keep("lists more or less", "the first list twice", changed);
  changed = lists;
  changed.pop_back();
  keep("lists more or less", "the last list lost", changed);
  changed = lists;
  changed.front().rows.pop_back();
  keep("lists more or less", "the first list without its last row", changed);
  changed = lists;
  changed.front().rows.push_back(changed.front().rows.front());
  keep("lists more or less", "the first list with its first row twice", changed);
}

// Words after what work_indptr and reduce_indptr lead to.
void other_tails(const PlanWords& plan, std::mt19937_64& random, std::vector<PlanChange>& out) {
  PlanWords garbage = plan;
  const auto spoil = [&](std::vector<std::int32_t>& buffer, std::size_t live) {
    for (std::size_t i = live; i < buffer.size(); ++i)
      buffer[i] = static_cast<std::int32_t>(random());
  };
  spoil(garbage.work_info, plan.works() * plan::kWorkItemWords);
  spoil(garbage.reduce_partial_map, static_cast<std::size_t>(plan.reduce_indptr.back()));
  out.push_back({"unread words", "garbage after the live part", std::move(garbage)});
}

// A work without keys or rows at the end of a slot, and one in front of the others.
void empty_works(const PlanWords& plan, std::vector<PlanChange>& out) {
  const std::vector<WorkItem> works = works_of(plan);
  if ((works.size() + 1) * plan::kWorkItemWords > plan.work_info.size()) return;
  for (std::size_t which = 0; which < std::min<std::size_t>(works.size(), 3); ++which) {
    for (const bool no_rows : {false, true}) {
      for (const bool first : {false, true}) {
        for (const bool partial : {false, true}) {
          WorkItem empty = works[which];
          (no_rows ? empty.q_end : empty.kv_end) = no_rows ? empty.q_begin : empty.kv_begin;
          if (partial == (empty.partial_row < 0)) continue;
          std::vector<WorkItem> all = works;
          all.insert(first ? all.begin() : all.end(), empty);
          out.push_back({"empty work",
                         std::string(no_rows ? "no rows" : "no keys") + ", like work " +
                             std::to_string(which) + (first ? ", first" : ", last") + " of all",
                         in_slots(plan, all, std::vector<std::size_t>(all.size(), 0))});
        }
      }
    }
  }
}

}  // namespace

std::vector<PlanChange> rearranged(const PlanWords& plan, std::mt19937_64& random) {
  std::vector<PlanChange> out;
  other_slots(plan, random, out);
  other_slabs(plan, random, out);
  other_lists(plan, random, out);
  other_tails(plan, random, out);
  empty_works(plan, out);
  return out;
}

}  // namespace mla::hip::aiter::test

#include <algorithm>
#include <set>

#include "tests/hip_backend/aiter/calibration/plan_changes.hpp"

namespace mla::hip::aiter::test {
namespace {

using plan::WorkItem;
using Values = std::set<std::int32_t>;

constexpr std::int32_t kFar = 100000;

std::string at(const char* name, std::size_t i) {
  return std::string(name) + "[" + std::to_string(i) + "]";
}

class Damage {
 public:
  explicit Damage(const PlanWords& plan) : plan_(plan) {}

  void words(std::string_view family, const char* name,
             std::vector<std::int32_t> PlanWords::* which, std::size_t live) {
    const std::vector<std::int32_t>& buffer = plan_.*which;
    for (std::size_t i = 0; i < std::min(live, buffer.size()); ++i) {
      Values values = {-1, 0, 1, buffer[i] - 1, buffer[i] + 1, buffer[i] + 2, kFar};
      if (i > 0) values.insert(buffer[i - 1]);
      if (i + 1 < live) values.insert(buffer[i + 1]);
      values.erase(buffer[i]);
      for (const std::int32_t value : values) {
        PlanWords changed = plan_;
        (changed.*which)[i] = value;
        keep(family, at(name, i) + " = " + std::to_string(value), std::move(changed));
      }
    }
  }
  void field(std::string_view family, const char* name, std::int32_t WorkItem::* which,
             std::size_t work, Values values) {
    const WorkItem item = plan_.work(work);
    values.insert({-1, 0, item.*which - 1, item.*which + 1, kFar});
    values.erase(item.*which);
    for (const std::int32_t value : values) {
      WorkItem other = item;
      other.*which = value;
      PlanWords changed = plan_;
      changed.set_work(work, other);
      keep(family, at("work", work) + "." + name + " = " + std::to_string(value),
           std::move(changed));
    }
  }
  void keep(std::string_view family, std::string what, PlanWords plan) {
    out_.push_back({family, std::move(what), std::move(plan)});
  }
  std::vector<PlanChange> take() && { return std::move(out_); }

 private:
  const PlanWords& plan_;
  std::vector<PlanChange> out_;
};

void damage_fields(const PlanWords& plan, std::size_t w, Damage& damage) {
  const WorkItem i = plan.work(w);
  Values slabs = {-2, i.partial_row + 2};
  Values rows;
  Values pages = {i.kv_begin,   i.kv_begin + 1, i.kv_end,
                  i.kv_end - 2, i.kv_end + 16,  i.kv_begin - 16};
  for (std::size_t other = 0; other < plan.works(); ++other) {
    const WorkItem o = plan.work(other);
    slabs.insert(o.partial_row);
    rows.insert({o.q_begin, o.q_end});
    pages.insert({o.kv_begin, o.kv_end});
  }
  damage.field("batch", "batch", &WorkItem::batch, w, {});
  damage.field("partial row", "partial_row", &WorkItem::partial_row, w, slabs);
  damage.field("rows", "q_begin", &WorkItem::q_begin, w, rows);
  damage.field("rows", "q_end", &WorkItem::q_end, w, rows);
  damage.field("pages", "kv_begin", &WorkItem::kv_begin, w, pages);
  damage.field("pages", "kv_end", &WorkItem::kv_end, w, pages);
  damage.field("offset", "kv_offset", &WorkItem::kv_offset, w, {-5, 2, 3, 5, 17});
  damage.field("pad", "pad", &WorkItem::heads, w, {});
}

// Moves the end of a piece, and the beginning of the one after it where there is one.
void move_cut(const PlanWords& plan, std::size_t w, std::int32_t to, std::int64_t page_size,
              std::string_view family, Damage& damage) {
  WorkItem item = plan.work(w);
  const std::int32_t from = item.kv_end;
  if (to == from || to < item.kv_begin) return;
  PlanWords changed = plan;
  item.kv_end = to;
  item.kv_offset -= static_cast<std::int32_t>((to - from) * page_size);
  changed.set_work(w, item);
  for (std::size_t other = 0; other < plan.works(); ++other) {
    WorkItem o = plan.work(other);
    if (o.batch != item.batch || o.q_begin != item.q_begin || o.kv_begin != from) continue;
    o.kv_begin = to;
    changed.set_work(other, o);
  }
  damage.keep(family, "cut after work " + std::to_string(w) + " at " + std::to_string(to),
              std::move(changed));
}

void move_cuts(const PlanWords& plan, std::size_t w, std::int64_t page_size, Damage& damage) {
  const WorkItem item = plan.work(w);
  if (item.kv_offset <= 0) return;
  const auto left = static_cast<std::int32_t>((item.kv_offset + page_size - 1) / page_size);
  for (std::int32_t keys = 0; keys <= 8; ++keys) {
    move_cut(plan, w, item.kv_end + left - keys, page_size, "short last piece", damage);
    move_cut(plan, w, item.kv_begin + keys, page_size, "short first piece", damage);
  }
  for (const std::int32_t by : {-17, -3, 5, 16})
    move_cut(plan, w, item.kv_end + by, page_size, "cut moved", damage);
}

}  // namespace

std::vector<PlanChange> single_words(const PlanWords& plan) {
  Damage damage(plan);
  damage.words("work_indptr", "work_indptr", &PlanWords::work_indptr, plan.work_indptr.size());
  for (std::size_t w = 0; w < plan.works(); ++w) damage_fields(plan, w, damage);
  const auto& starts = plan.reduce_indptr;
  const auto tiles = static_cast<std::size_t>(
      std::find(starts.begin(), starts.end(), starts.back()) - starts.begin());
  damage.words("reduce_indptr", "reduce_indptr", &PlanWords::reduce_indptr, starts.size());
  damage.words("reduce_final_map", "reduce_final_map", &PlanWords::reduce_final_map, 2 * tiles);
  damage.words("reduce_partial_map", "reduce_partial_map", &PlanWords::reduce_partial_map,
               static_cast<std::size_t>(starts.back()));
  return std::move(damage).take();
}

std::vector<PlanChange> damaged_works(const PlanWords& plan, std::int64_t page_size) {
  Damage damage(plan);
  for (std::size_t w = 0; w < plan.works(); ++w) {
    move_cuts(plan, w, page_size, damage);
    for (std::size_t other = 0; other < plan.works(); ++other) {
      if (other == w) continue;
      PlanWords copied = plan;
      copied.set_work(w, plan.work(other));
      damage.keep("work twice",
                  "work " + std::to_string(w) + " is a copy of work " + std::to_string(other),
                  std::move(copied));
    }
  }
  for (std::size_t slot = 0; slot + 1 < plan.work_indptr.size(); ++slot) {
    if (plan.work_indptr[slot + 1] == plan.work_indptr[slot]) continue;
    PlanWords lost = plan;
    for (std::size_t s = slot + 1; s < plan.work_indptr.size(); ++s) --lost.work_indptr[s];
    const auto words = plan.work_info.begin();
    const auto first = (plan.work_indptr[slot + 1] - 1) * plan::kWorkItemWords;
    std::copy(words + first + plan::kWorkItemWords, plan.work_info.end(),
              lost.work_info.begin() + first);
    damage.keep("work lost", "the last work of slot " + std::to_string(slot) + " is lost",
                std::move(lost));
  }
  return std::move(damage).take();
}

}  // namespace mla::hip::aiter::test

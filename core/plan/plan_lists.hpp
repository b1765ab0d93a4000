// PlanLists: the five lists of a plan, whatever holds them, and the record of a work.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

#include "core/lifetime.hpp"

namespace mla::plan {

// One record of work_info_set. `batch` is the folded index when heads are folded.
struct WorkItem {
  std::int32_t batch = 0;
  std::int32_t partial_row = -1;  // first row in the partial buffers; -1: writes the final output
  std::int32_t q_begin = 0;       // global query rows
  std::int32_t q_end = 0;
  std::int32_t kv_begin = 0;  // pages, from kv_indptr[0]
  std::int32_t kv_end = 0;
  std::int32_t kv_offset = 0;  // tokens of the request after kv_end
  // The query heads of a prefill, one past the last in the upper half and the first in the lower.
  std::int32_t heads = 0;
  [[nodiscard]] std::int64_t first_head() const { return heads & 0xffff; }
  [[nodiscard]] std::int64_t end_head() const { return heads >> 16; }
  bool operator==(const WorkItem&) const = default;
};
inline constexpr std::int64_t kWorkItemWords = 8;
static_assert(sizeof(WorkItem) == kWorkItemWords * sizeof(std::int32_t));

constexpr std::array<std::int32_t, kWorkItemWords> words_of(const WorkItem& item) {
  return {item.batch,    item.partial_row, item.q_begin,   item.q_end,
          item.kv_begin, item.kv_end,      item.kv_offset, item.heads};
}
constexpr WorkItem work_of(const std::int32_t* words) {
  return {words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7]};
}

// Buffers, spans, words on a device, numbers of words, ... .
template <class List>
struct PlanLists {
  List work_indptr{};
  List work_info{};  // rows of kWorkItemWords
  List reduce_indptr{};
  List reduce_final_map{};  // rows of 2
  List reduce_partial_map{};
  bool operator==(const PlanLists&) const = default;

  [[nodiscard]] PlanLists& lists() MLA_LIFETIME_BOUND { return *this; }
  // In their order.
  [[nodiscard]] std::array<List*, 5> all() MLA_LIFETIME_BOUND {
    return {&work_indptr, &work_info, &reduce_indptr, &reduce_final_map, &reduce_partial_map};
  }
  [[nodiscard]] std::array<const List*, 5> all() const MLA_LIFETIME_BOUND {
    return {&work_indptr, &work_info, &reduce_indptr, &reduce_final_map, &reduce_partial_map};
  }

  // A work that lies inside work_info.
  [[nodiscard]] WorkItem work(std::int64_t index) const {
    return work_of(work_info.data() + index * kWorkItemWords);
  }
  void set_work(std::int64_t index, const WorkItem& item) {
    std::ranges::copy(words_of(item), work_info.data() + index * kWorkItemWords);
  }
};

// Calls f(name, list) for each of the lists; of several plans f(name, list, list, ...).
template <class F, class... Plans>
void for_each_list(F&& f, Plans&&... plans) {
  f("work_indptr", plans.work_indptr...);
  f("work_info_set", plans.work_info...);
  f("reduce_indptr", plans.reduce_indptr...);
  f("reduce_final_map", plans.reduce_final_map...);
  f("reduce_partial_map", plans.reduce_partial_map...);
}

// What f(name, list) makes of each of the lists.
template <class F, class List>
auto lists_of(const PlanLists<List>& plan, F&& f) {
  return PlanLists<std::remove_cvref_t<decltype(f("", plan.work_indptr))>>{
      f("work_indptr", plan.work_indptr), f("work_info_set", plan.work_info),
      f("reduce_indptr", plan.reduce_indptr), f("reduce_final_map", plan.reduce_final_map),
      f("reduce_partial_map", plan.reduce_partial_map)};
}

}  // namespace mla::plan

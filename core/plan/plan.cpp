#include "core/plan/plan.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace mla::plan {

namespace {

// A small block, then copies of it: a sanitizer checks a loop word by word, a copy once.
void fill_words(std::span<std::int32_t> words, std::int32_t value) {
  constexpr std::size_t kBlock = 256;
  std::size_t done = std::min(kBlock, words.size());
  std::fill_n(words.begin(), done, value);
  for (std::size_t count = 0; done < words.size(); done += count) {
    count = std::min(kBlock, words.size() - done);
    std::memcpy(words.data() + done, words.data(), count * sizeof(value));
  }
}

}  // namespace

PlanBuffer::PlanBuffer(std::string_view name, std::int64_t size)
    : name_(name), data_(static_cast<std::size_t>(size)) {
  fill_words({data_.data(), data_.size()}, kPoison);
}

void PlanBuffer::overrun(std::int64_t i, std::span<const std::int32_t> values) {
  for (const std::int32_t value : values) overruns_.emplace_back(i++, value);
}

void PlanBuffer::fill_from(std::int64_t i, std::int32_t value) {
  const std::int64_t at = std::clamp<std::int64_t>(i, 0, size());
  const auto rest = std::span(data_.data(), data_.size()).subspan(static_cast<std::size_t>(at));
  fill_words(rest, value);
  mark(at, rest.size());
}

void PlanBuffer::forget_from(std::int64_t i) {
  const std::int64_t end = used();
  const std::int64_t at = std::clamp<std::int64_t>(i, 0, end);
  std::fill(data_.begin() + at, data_.begin() + end, kPoison);
  prefix_ = std::min(prefix_, at);
  if (!apart_.empty()) std::fill(apart_.begin() + at, apart_.end(), std::uint8_t{0});
}

std::int64_t PlanBuffer::used() const {
  if (apart_.empty()) return prefix_;
  for (std::int64_t i = size(); i > 0; --i)
    if (written(i - 1)) return i;
  return 0;
}

bool PlanBuffer::operator==(const PlanBuffer& other) const {
  return data_ == other.data_ && overruns_ == other.overruns_;
}

Plan::Plan(const BufferSizes& sizes)
    : PlanLists(lists_of(words_of(sizes), [](const char* name, std::int64_t words) {
        return PlanBuffer(name, words);
      })) {
  bind();
}

Plan Plan::clone() const {
  Plan copy;
  const PlanLists<PlanBuffer>& own = *this;
  copy.lists() = own;
  copy.bind();
  return copy;
}

Plan Plan::copy_of(const PlanView& view) {
  Plan plan({.work_indptr = std::ssize(view.work_indptr),
             .work_items = std::ssize(view.work_info) / kWorkItemWords,
             .reduce_indptr = std::ssize(view.reduce_indptr),
             .reduce_final_rows = std::ssize(view.reduce_final_map) / 2,
             .reduce_partial_map = std::ssize(view.reduce_partial_map)});
  for_each_list(
      [](const char*, WordSpan from, PlanBuffer& to) {
        to.write(0, from.first(static_cast<std::size_t>(to.size())));
      },
      view, plan);
  return plan;
}

void Plan::bind() {
  work_meta_data_ = {reinterpret_cast<std::uintptr_t>(work_indptr.data().data()),
                     reinterpret_cast<std::uintptr_t>(work_info.data().data())};
}

WorkItem Plan::work_at_end(std::int64_t index) const {
  std::array<std::int32_t, kWorkItemWords> words{};
  for (std::int64_t w = 0; w < kWorkItemWords; ++w)
    words[static_cast<std::size_t>(w)] = work_info.at(index * kWorkItemWords + w);
  return std::bit_cast<WorkItem>(words);
}

std::int64_t Plan::works() const {
  const std::int64_t used = work_indptr.used();
  return used == 0 ? 0 : work_indptr.at(used - 1);
}

PlanView Plan::view() const {
  return {work_meta_data_,
          lists_of(*this, [](const char*, const PlanBuffer& buffer) { return buffer.data(); })};
}

BufferSizes Plan::sizes() const {
  return {.work_meta_data = 2,
          .work_indptr = work_indptr.size(),
          .work_items = work_info.size() / kWorkItemWords,
          .reduce_indptr = reduce_indptr.size(),
          .reduce_final_rows = reduce_final_map.size() / 2,
          .reduce_partial_map = reduce_partial_map.size()};
}

}  // namespace mla::plan

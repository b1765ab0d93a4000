// Plan: the six buffers that tell a persistent kernel which slot runs which work, and how pieces
// merge.
//
// All six or none: they live in one value. Every buffer has the size that the size query gave;
// elements that the planner did not write are known, because real memory holds garbage there.
// work_meta_data holds the addresses of work_indptr and work_items, so a Plan moves but does not
// copy; clone() makes a second one with its own addresses. Source: spec aiter.md 1. Fails: a write
// past a buffer is recorded as an overrun, never performed.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/lifetime.hpp"
#include "core/plan/plan_lists.hpp"
#include "core/plan/sizes.hpp"

namespace mla::plan {

// Words that begin as memory is, for an owner that sets them all at once.
class RawWords {
 public:
  RawWords() = default;
  explicit RawWords(std::size_t size)
      : words_(std::make_unique_for_overwrite<std::int32_t[]>(size)), size_(size) {}
  RawWords(const RawWords& other) : RawWords(other.size_) {
    std::copy_n(other.begin(), size_, begin());
  }
  RawWords(RawWords&& other) noexcept
      : words_(std::move(other.words_)), size_(std::exchange(other.size_, 0)) {}
  RawWords& operator=(RawWords other) noexcept {
    std::swap(words_, other.words_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~RawWords() = default;
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::int32_t* data() { return words_.get(); }
  [[nodiscard]] const std::int32_t* data() const MLA_LIFETIME_BOUND { return words_.get(); }
  [[nodiscard]] std::int32_t* begin() { return data(); }
  [[nodiscard]] const std::int32_t* begin() const MLA_LIFETIME_BOUND { return data(); }
  [[nodiscard]] std::int32_t* end() { return data() + size_; }
  [[nodiscard]] const std::int32_t* end() const MLA_LIFETIME_BOUND { return data() + size_; }
  std::int32_t& operator[](std::size_t i) { return words_[i]; }
  std::int32_t operator[](std::size_t i) const { return words_[i]; }
  bool operator==(const RawWords& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  std::unique_ptr<std::int32_t[]> words_;
  std::size_t size_ = 0;
};

// What unwritten elements hold until they are written: no valid index, offset or count.
inline constexpr std::int32_t kPoison = -0x5EADBEEF;

// Words that did not fit a buffer: place and value, as they came. Every planner writes a buffer
// from its front to its back, so they ascend. There may be millions.
using Overruns = std::vector<std::pair<std::int64_t, std::int32_t>>;

// An int32 buffer of fixed size that remembers which elements were written.
class PlanBuffer {
 public:
  PlanBuffer() = default;
  // `name` is a literal.
  PlanBuffer(std::string_view name, std::int64_t size);

  // Writes element i; an i outside the buffer is kept in overruns() instead.
  void set(std::int64_t i, std::int32_t value) {
    write(i, std::span<const std::int32_t, 1>(&value, 1));
  }
  // Writes the elements from i on: a record, which lies inside the buffer or outside as a whole,
  // since buffers hold whole records. One outside is kept as above.
  template <std::size_t Extent>
  void write(std::int64_t i, std::span<const std::int32_t, Extent> values);
  // Makes the elements from i on as they were before they were written.
  void forget_from(std::int64_t i);
  // Gives the elements from i to the end the value.
  void fill_from(std::int64_t i, std::int32_t value);
  // Element i; kPoison where it was never written or lies outside.
  [[nodiscard]] std::int32_t at(std::int64_t i) const {
    return i < 0 || i >= size() ? kPoison : data_[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] bool written(std::int64_t i) const {
    if (i < 0 || i >= size()) return false;
    return i < prefix_ || (!apart_.empty() && apart_[static_cast<std::size_t>(i)] != 0);
  }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(data_.size()); }
  // One past the last written element.
  [[nodiscard]] std::int64_t used() const;
  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] std::span<const std::int32_t> data() const MLA_LIFETIME_BOUND {
    return {data_.data(), data_.size()};
  }
  [[nodiscard]] const Overruns& overruns() const MLA_LIFETIME_BOUND { return overruns_; }

  // Same size, same values, same overruns. Unwritten elements are kPoison, which no planner writes.
  bool operator==(const PlanBuffer& other) const;

 private:
  friend class InOrder;
  void overrun(std::int64_t i, std::span<const std::int32_t> values);
  // Elements [i, i + count) are written.
  void mark(std::int64_t i, std::size_t count) {
    if (i > prefix_) {
      if (apart_.empty()) apart_.resize(data_.size());
      std::fill_n(apart_.begin() + static_cast<std::ptrdiff_t>(i), count, std::uint8_t{1});
    } else {
      prefix_ = std::max(prefix_, i + static_cast<std::int64_t>(count));
    }
  }

  // Planners write nearly everything in order: what they write is a prefix, and a flag an element
  // is only kept once a write leaves a gap.
  std::string_view name_;
  RawWords data_;
  std::int64_t prefix_ = 0;          // every element before it is written
  std::vector<std::uint8_t> apart_;  // 1: written at or after prefix_; empty: none was
  Overruns overruns_;
};

template <std::size_t Extent>
void PlanBuffer::write(std::int64_t i, std::span<const std::int32_t, Extent> values) {
  if (i < 0 || i > size() - std::ssize(values)) return overrun(i, values);
  // Word by word: a copy would load together what was just stored apart, and wait for it.
  std::int32_t* const to = data_.data() + i;
  for (std::size_t k = 0; k < values.size(); ++k) to[k] = values[k];
  mark(i, values.size());
}

using WordSpan = std::span<const std::int32_t>;

// Of lists that are no buffers of a kernel.
inline constexpr std::array<std::uint64_t, 2> kNoAddresses{};

// The six buffers as a kernel gets them: addresses and lengths, nothing else.
struct PlanView : PlanLists<WordSpan> {
  PlanView(std::span<const std::uint64_t, 2> addresses, const PlanLists<WordSpan>& lists)
      : PlanLists<WordSpan>(lists), work_meta_data(addresses) {}
  template <class List>
  explicit PlanView(const PlanLists<List>& lists MLA_LIFETIME_BOUND)
      : PlanView(kNoAddresses,
                 lists_of(lists, [](const char*, const List& list) { return WordSpan(list); })) {}
  std::span<const std::uint64_t, 2> work_meta_data;
};

class Plan : public PlanLists<PlanBuffer> {
 public:
  explicit Plan(const BufferSizes& sizes);
  Plan(Plan&&) = default;
  Plan& operator=(Plan&&) = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  [[nodiscard]] Plan clone() const;
  // A plan that holds what the buffers of a view hold; every element counts as written.
  static Plan copy_of(const PlanView& view);

  void set_work(std::int64_t index, const WorkItem& item) {
    const auto words = words_of(item);
    work_info.write(index * kWorkItemWords, std::span(words));
  }
  // Words outside work_info are kPoison.
  [[nodiscard]] WorkItem work(std::int64_t index) const {
    const std::int64_t i = index * kWorkItemWords;
    if (i < 0 || i > work_info.size() - kWorkItemWords) return work_at_end(index);
    return work_of(work_info.data().data() + i);
  }
  // Works in use: the last entry of work_indptr that was written.
  [[nodiscard]] std::int64_t works() const;
  [[nodiscard]] PlanView view() const MLA_LIFETIME_BOUND;
  [[nodiscard]] BufferSizes sizes() const;
  bool operator==(const Plan& other) const { return PlanLists::operator==(other); }

 private:
  Plan() = default;
  [[nodiscard]] WorkItem work_at_end(std::int64_t index) const;
  void bind();
  std::array<std::uint64_t, 2> work_meta_data_{};
};

}  // namespace mla::plan

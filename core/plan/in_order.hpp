// InOrder: writes a plan buffer from its first element on, without gaps.
//
// Planners write nearly every element in order. This writer keeps its place itself and tells the
// buffer at the end which elements are written, where PlanBuffer::set() does so for every element.
// Owns nothing: the buffer outlives it, and nothing else writes there meanwhile. Fails: an element
// past the end is kept as an overrun of the buffer.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/plan/plan.hpp"

namespace mla::plan {

class InOrder {
 public:
  explicit InOrder(PlanBuffer& buffer)
      : buffer_(buffer), next_(buffer.data_.data()), end_(next_ + buffer.size()) {}
  ~InOrder() { buffer_.mark(0, static_cast<std::size_t>(inside())); }
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;

  // Truncates to a word, as the original does.
  void add(std::int64_t value) {
    const auto word = static_cast<std::int32_t>(value);
    if (next_ == end_) [[unlikely]]
      buffer_.set(at_past_end(), word);
    else
      *next_++ = word;
  }
  void add(const WorkItem& item) {
    if (end_ - next_ < kWorkItemWords) [[unlikely]] {
      for (const std::int32_t word : words_of(item)) add(word);
      return;
    }
    next_[0] = item.batch;
    next_[1] = item.partial_row;
    next_[2] = item.q_begin;
    next_[3] = item.q_end;
    next_[4] = item.kv_begin;
    next_[5] = item.kv_end;
    next_[6] = item.kv_offset;
    next_[7] = item.heads;
    next_ += kWorkItemWords;
  }
  // Gives every element that is left the value.
  void fill(std::int64_t value) {
    std::fill(next_, end_, static_cast<std::int32_t>(value));
    next_ = end_;
  }

 private:
  [[nodiscard]] std::int64_t inside() const { return next_ - buffer_.data_.data(); }
  std::int64_t at_past_end() { return inside() + past_end_++; }

  PlanBuffer& buffer_;
  std::int32_t* next_;
  std::int32_t* end_;
  std::int64_t past_end_ = 0;  // elements that did not fit
};

}  // namespace mla::plan

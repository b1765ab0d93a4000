// Attention of single query rows over the keys of one request and one KV head.
//
// What all FA kernels have in common: f32 scores, weights rounded to bf16 before they meet V, sums
// over keys in tiles that start from zero. Units: elements, keys; tensors are bf16 bits.
// The caller has checked every address.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/lifetime.hpp"

namespace mla::cpu {

// Of one layer: query heads [0, heads) share KV head h / group().
struct FaShape {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t head_dim = 128;
  float softmax_scale = 1;
  [[nodiscard]] std::int64_t group() const { return heads / kv_heads; }
  // Elements of a query row, and of a key.
  [[nodiscard]] std::int64_t q_row() const { return heads * head_dim; }
  [[nodiscard]] std::int64_t kv_row() const { return kv_heads * head_dim; }
};

// Keys and values of one request and KV head, widened once for all rows that look at them.
class HeadKeys {
 public:
  explicit HeadKeys(std::int64_t head_dim) : dim_(static_cast<std::size_t>(head_dim)) {}
  void clear() { keys_.clear(), values_.clear(); }
  void add(const std::uint16_t* key, const std::uint16_t* value);
  [[nodiscard]] std::int64_t count() const {
    return static_cast<std::int64_t>(keys_.size() / dim_);
  }
  [[nodiscard]] const float* key(std::int64_t j) const MLA_LIFETIME_BOUND {
    return keys_.data() + at(j);
  }
  [[nodiscard]] const float* value(std::int64_t j) const MLA_LIFETIME_BOUND {
    return values_.data() + at(j);
  }

 private:
  [[nodiscard]] std::size_t at(std::int64_t j) const { return static_cast<std::size_t>(j) * dim_; }
  std::size_t dim_;
  std::vector<float> keys_;
  std::vector<float> values_;
};

// Keys [first, last) of a request.
struct KeyRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// Which of its request's `kv_len` keys a row sees. Query rows are right-aligned with the keys; a
// window of w leaves the row's own key and w before it, -1 all of them.
struct Visibility {
  bool causal = true;
  std::int64_t window = -1;
  [[nodiscard]] KeyRange of_row(std::int64_t row, std::int64_t qo_len, std::int64_t kv_len) const;
};

class RowAttention {
 public:
  explicit RowAttention(const FaShape& shape)
      : shape_(shape), q_(dim()), tile_(dim()), out_(dim()) {}
  // Leaves the normalised output in out() and returns the natural-log LSE; 0 and -inf without keys.
  float run(const std::uint16_t* q, const HeadKeys& keys, KeyRange range);
  [[nodiscard]] std::span<const float> out() const MLA_LIFETIME_BOUND { return out_; }

 private:
  [[nodiscard]] std::size_t dim() const { return static_cast<std::size_t>(shape_.head_dim); }
  FaShape shape_;
  std::vector<float> q_, tile_, out_, scores_;
};

}  // namespace mla::cpu

// Attention of single query rows over the keys of one request and one KV head.
//
// What all FA kernels have in common: f32 scores, weights rounded to bf16 before they meet V, sums
// over keys in tiles that start from zero. Units: elements, keys; tensors are bf16 bits.
// The caller has checked every address.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/engine/fa/kernels.hpp"
#include "core/lifetime.hpp"

namespace mla::cpu {

using fa::KeyRange;

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

class RowAttention {
 public:
  explicit RowAttention(const fa::TensorShape& shape)
      : shape_(shape), q_(dim()), tile_(dim()), out_(dim()) {}
  // Leaves the normalised output in out() and returns the natural-log LSE; 0 and -inf without keys.
  float run(const std::uint16_t* q, const HeadKeys& keys, KeyRange range);
  [[nodiscard]] std::span<const float> out() const MLA_LIFETIME_BOUND { return out_; }

 private:
  [[nodiscard]] std::size_t dim() const { return static_cast<std::size_t>(shape_.head_dim); }
  fa::TensorShape shape_;
  std::vector<float> q_, tile_, out_, scores_;
};

}  // namespace mla::cpu

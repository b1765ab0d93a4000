// RowMap: kernel rows and their heads, and the query rows and model heads that they stand for.
//
// Folding turns one request into `fold` requests of 16 heads, ordered (request, group, token); head
// padding gives the kernel copies of model heads. Both are decided in ResolvedShape and only looked
// up here. A kernel row is one token of one folded request and holds row_heads() heads.
// Fails: make() refuses a fold of ragged queries, and shapes that contradict the metadata.
#pragma once

#include <cstdint>

#include "core/engine/decode_metadata.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"

namespace mla {

class RowMap {
 public:
  static Result<RowMap> make(const DecodeMetadata& metadata);

  [[nodiscard]] std::int64_t kernel_rows() const { return query_rows_ * fold_; }
  [[nodiscard]] std::int64_t query_rows() const { return query_rows_; }
  [[nodiscard]] std::int64_t row_heads() const { return row_heads_; }
  [[nodiscard]] std::int64_t fold() const { return fold_; }
  [[nodiscard]] const HeadPadding& padding() const MLA_LIFETIME_BOUND { return padding_; }

  [[nodiscard]] std::int64_t query_row(std::int64_t kernel_row) const {
    if (fold_ == 1) return kernel_row;
    const std::int64_t folded = kernel_row / tokens_;
    return folded / fold_ * tokens_ + kernel_row % tokens_;
  }
  [[nodiscard]] std::int64_t model_head(std::int64_t kernel_row, std::int64_t head) const {
    const std::int64_t group = fold_ == 1 ? 0 : kernel_row / tokens_ % fold_;
    return padding_.source(group * row_heads_ + head);
  }

  // Where the result of a model head of a query row lies: a kernel row, and a head of it.
  struct Place {
    std::int64_t kernel_row;
    std::int64_t head;
  };
  [[nodiscard]] Place place(std::int64_t query_row, std::int64_t model_head) const {
    const std::int64_t padded = padding_.position(model_head);
    if (fold_ == 1) return {query_row, padded};
    const std::int64_t folded = query_row / tokens_ * fold_ + padded / row_heads_;
    return {folded * tokens_ + query_row % tokens_, padded % row_heads_};
  }

 private:
  std::int64_t query_rows_ = 0;
  std::int64_t row_heads_ = 0;
  std::int64_t fold_ = 1;
  std::int64_t tokens_ = 1;  // rows of every request; read only when folded
  HeadPadding padding_;
};

}  // namespace mla

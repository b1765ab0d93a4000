#include "hip_backend/packing.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

namespace mla::hip {

Result<Packing> Packing::make(const DecodeMetadata& metadata) {
  const ResolvedShape& shape = metadata.shape;
  Packing p;
  p.query_rows_ = metadata.rows().count();
  p.heads_ = shape.row_heads().count();
  p.fold_ = shape.fold_ratio();
  p.padding_ = shape.heads;
  if (p.fold_ * p.heads_ != shape.heads.kernel.count())
    return Error{ErrorCode::fault,
                 std::to_string(p.fold_) + " groups of " + std::to_string(p.heads_) +
                     " heads are not the " + std::to_string(shape.heads.kernel.count()) +
                     " kernel heads",
                 ""};
  if (p.fold_ == 1) {
    p.tokens_ = std::max<std::int64_t>(p.query_rows_, 1);
    return p;
  }
  p.tokens_ = shape.uniform_qo_len;
  if (p.tokens_ < 1 || metadata.requests().count() * p.tokens_ != p.query_rows_)
    return Error{ErrorCode::fault,
                 std::to_string(p.query_rows_) + " query rows are not " +
                     std::to_string(metadata.requests().count()) + " requests of " +
                     std::to_string(p.tokens_) + " rows, which folded heads need",
                 ""};
  return p;
}

std::int64_t Packing::place(std::int64_t row, std::int64_t head) const {
  const std::int64_t padded = padding_.position(head);
  const std::int64_t request = row / tokens_ * fold_ + padded / heads_;
  return (request * tokens_ + row % tokens_) * heads_ + padded % heads_;
}

std::vector<std::byte> Packing::pack(const DecodeTensors& tensors, Dtype dtype) const {
  const auto bytes = static_cast<std::size_t>(kKeyDim * element_bytes(dtype));
  const std::int64_t model = padding_.model.count();
  std::vector<std::byte> packed(static_cast<std::size_t>(kernel_rows() * heads_) * bytes);
  for (std::int64_t kernel_row = 0; kernel_row < kernel_rows(); ++kernel_row) {
    const std::int64_t folded = kernel_row / tokens_;
    const std::int64_t row = folded / fold_ * tokens_ + kernel_row % tokens_;
    for (std::int64_t head = 0; head < heads_; ++head) {
      const std::int64_t from = row * model + padding_.source(folded % fold_ * heads_ + head);
      const std::int64_t to = kernel_row * heads_ + head;
      std::memcpy(packed.data() + static_cast<std::size_t>(to) * bytes,
                  tensors.q.data() + static_cast<std::size_t>(from) * bytes, bytes);
    }
  }
  return packed;
}

void Packing::unpack(std::span<const std::uint16_t> out, std::span<const float> lse,
                     DecodeResult& result) const {
  const std::int64_t model = padding_.model.count();
  result.out.reserve(static_cast<std::size_t>(query_rows_ * model * kValueDim));
  for (std::int64_t row = 0; row < query_rows_; ++row) {
    for (std::int64_t head = 0; head < model; ++head) {
      const auto from = static_cast<std::size_t>(place(row, head));
      const auto values = out.subspan(from * kValueDim, kValueDim);
      result.out.insert(result.out.end(), values.begin(), values.end());
      result.lse.push_back(lse[from]);
    }
  }
}

void write_keyless(const DecodeMetadata& metadata, DecodeResult& result) {
  const std::int64_t heads = metadata.shape.heads.model.count();
  for (const auto& [begin, end] : metadata.keyless_rows) {
    if (begin < 0 || end < begin || end > metadata.rows().count()) {
      result.faults.push_back({"keyless rows [" + std::to_string(begin) + ", " +
                                   std::to_string(end) + ") are not in [0, " +
                                   std::to_string(metadata.rows().count()) + ")",
                               -1, -1});
      continue;
    }
    std::fill(result.out.begin() + begin * heads * kValueDim,
              result.out.begin() + end * heads * kValueDim, std::uint16_t{0});
    std::fill(result.lse.begin() + begin * heads, result.lse.begin() + end * heads,
              -std::numeric_limits<float>::infinity());
  }
}

}  // namespace mla::hip

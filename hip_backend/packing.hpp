// Packing: Q into the kernel's rows and heads, and results back into those of the model.
//
// A kernel row is one token of one folded request and holds row_heads() heads. Folding orders them
// (request, group, token); head padding gives the kernel copies of model heads. Both are decided in
// ResolvedShape. Fails: shapes that contradict the metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/backend.hpp"
#include "core/result.hpp"

namespace mla::hip {

class Packing {
 public:
  static Result<Packing> make(const DecodeMetadata& metadata);

  [[nodiscard]] std::int64_t kernel_rows() const { return query_rows_ * fold_; }
  [[nodiscard]] std::int64_t heads() const { return heads_; }
  [[nodiscard]] std::int64_t fold() const { return fold_; }

  // [kernel rows, heads, 576] from q of the launch.
  [[nodiscard]] std::vector<std::byte> pack(const DecodeTensors& tensors, Dtype dtype) const;
  // Output and LSE of the model from those of the kernel.
  void unpack(std::span<const std::uint16_t> out, std::span<const float> lse,
              DecodeResult& result) const;

 private:
  // Index of (kernel row, head) that holds model head `head` of query row `row`.
  [[nodiscard]] std::int64_t place(std::int64_t row, std::int64_t head) const;

  std::int64_t query_rows_ = 0;
  std::int64_t heads_ = 0;
  std::int64_t fold_ = 1;
  std::int64_t tokens_ = 1;  // rows of every request; all rows are one request when not folded
  HeadPadding padding_;
};

// Rows that see no key are nobody's on the device: the launcher writes output 0 and LSE -inf.
void write_keyless(const DecodeMetadata& metadata, DecodeResult& result);

}  // namespace mla::hip

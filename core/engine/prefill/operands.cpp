#include "core/engine/prefill/operands.hpp"

#include <algorithm>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"

namespace mla::prefill {

Operand bf16_operand(std::span<const std::uint16_t> bits, std::int64_t heads, std::int64_t dim) {
  return {std::as_bytes(bits).data(), static_cast<std::int64_t>(bits.size()) / (heads * dim), heads,
          dim, Dtype::bf16};
}

Operand fp8_operand(const Operand& bf16, std::int64_t rows, const PrefillShape& shape,
                    std::vector<std::byte>& storage) {
  const auto* from = reinterpret_cast<const std::uint16_t*>(bf16.data);
  const std::int64_t row_bytes = bf16.heads * bf16.dim;
  const std::int64_t padded_heads = shape.heads.kernel.count();
  std::vector<std::byte> cast(static_cast<std::size_t>(row_bytes));
  storage.resize(static_cast<std::size_t>(rows * padded_heads * bf16.dim));
  std::byte* to = storage.data();
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < row_bytes; ++i)
      cast[static_cast<std::size_t>(i)] =
          std::byte{fp8_from_float(bf16_to_float(from[r * row_bytes + i]), shape.fp8)};
    for (std::int64_t h = 0; h < padded_heads; ++h, to += bf16.dim)
      std::copy_n(cast.data() + shape.heads.source(h) * bf16.dim, bf16.dim, to);
  }
  return {storage.data(), rows, padded_heads, bf16.dim, Dtype::fp8};
}

}  // namespace mla::prefill

// Tensors as the kernels take them: bf16 as they are, or cast to fp8 with unit scale and with the
// heads padded by copies. Private to core/engine/prefill. Values beyond the fp8 range
// saturate.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/engine/prefill/kernels.hpp"
#include "core/engine/prefill/prefill_shape.hpp"

namespace mla::prefill {

// `bits` is a tensor [rows, heads, dim] in bf16.
Operand bf16_operand(std::span<const std::uint16_t> bits, std::int64_t heads, std::int64_t dim);

// The first `rows` rows of it in fp8, with kernel heads; `storage` keeps the bytes.
Operand fp8_operand(const Operand& bf16, std::int64_t rows, const PrefillShape& shape,
                    std::vector<std::byte>& storage);

}  // namespace mla::prefill

// Elements of the tensors that cache writers and casts read: bf16, f16, f32.
//
// Widening is exact. f16 is rounded to nearest even; overflow becomes infinity, NaN stays NaN.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mla::cpu {

enum class SourceType : std::uint8_t { bf16, f16, f32 };
std::int64_t element_bytes(SourceType type);

float f16_to_float(std::uint16_t bits);
std::uint16_t f16_from_float(float value);

// The element at `from`, and `value` rounded to nearest even at `to`.
float read_element(const std::byte* from, SourceType type);
void write_element(float value, SourceType type, std::byte* to);

}  // namespace mla::cpu

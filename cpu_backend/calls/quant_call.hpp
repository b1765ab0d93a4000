// Casts to fp8 with a scale, as AITER's Python makes them.
//
// An element is the value times 1/scale, rounded to nearest even and saturating. The scale is
// given, or the largest magnitude divided by the largest fp8 number: one for the whole tensor, or
// one for each row. Nothing but zeros has scale 0, and its elements are 0 times infinity: NaN.
// Source: AITER csrc/kernels/quant_kernels.cu (whose reciprocal is the hardware's, good to 1 ulp;
// here it is rounded correctly).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/arch.hpp"
#include "cpu_backend/calls/element.hpp"

namespace mla::cpu {

enum class QuantScale : std::uint8_t { given, of_tensor, of_row };

struct QuantCall {
  QuantScale kind = QuantScale::given;
  SourceType type = SourceType::bf16;
  const std::byte* input = nullptr;  // [rows, columns], dense
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::uint8_t* output = nullptr;  // the same
  std::span<float> scales;         // one, or one a row
  Fp8Variant variant = Fp8Variant::e4m3fnuz;
};

void quantise(const QuantCall& call);

}  // namespace mla::cpu

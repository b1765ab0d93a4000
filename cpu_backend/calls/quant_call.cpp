#include "cpu_backend/calls/quant_call.hpp"

#include <algorithm>
#include <cmath>

#include "core/numeric/fp8.hpp"

namespace mla::cpu {
namespace {

struct Elements {
  std::int64_t begin, end;
};

float scale_of(const QuantCall& call, Elements part) {
  const std::int64_t size = element_bytes(call.type);
  float largest = 0;
  for (std::int64_t i = part.begin; i < part.end; ++i)
    largest = std::max(largest, std::fabs(read_element(call.input + i * size, call.type)));
  return largest * (1.0F / fp8_max(call.variant));
}

void cast(const QuantCall& call, Elements part, float scale) {
  const std::int64_t size = element_bytes(call.type);
  const float inverse = 1.0F / scale;
  for (std::int64_t i = part.begin; i < part.end; ++i)
    call.output[i] =
        fp8_from_float(read_element(call.input + i * size, call.type) * inverse, call.variant);
}

}  // namespace

void quantise(const QuantCall& call) {
  if (call.kind == QuantScale::of_row) {
    for (std::int64_t row = 0; row < call.rows; ++row) {
      const Elements part = {row * call.columns, (row + 1) * call.columns};
      float& scale = call.scales[static_cast<std::size_t>(row)];
      scale = scale_of(call, part);
      cast(call, part, scale);
    }
    return;
  }
  const Elements whole = {0, call.rows * call.columns};
  if (call.kind == QuantScale::of_tensor) call.scales[0] = scale_of(call, whole);
  cast(call, whole, call.scales[0]);
}

}  // namespace mla::cpu

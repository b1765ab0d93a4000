// Tensors of a case: Q and KV cache, as bits a device would hold.
//
// Every element is a function of (data seed, tensor, request or row, position, dimension): where a
// key lies physically changes nothing (P18), and a narrow row is the beginning of a wide one. Keys
// of a shared prefix are the same for all requests. Slots that no request owns hold NaN, so that a
// stray read shows. An fp8 tensor holds value / scale, rounded to nearest even. Values beyond the
// fp8 range saturate, and saturated_elements() counts them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/arch.hpp"
#include "core/case/batch.hpp"
#include "core/case/case.hpp"
#include "core/engine/backend.hpp"

namespace mla::prop {

// 1 / sqrt(128 + 64): the head dimension of MLA before absorption, latent part and rope part.
inline constexpr float kSoftmaxScale = 0.0721687824F;
// 1 / sqrt(128 + rope) where a value is the latent part, so that the heads are absorbed; else
// 1 / sqrt(key): heads attend to the rows as they are (DeepSeek-V4).
float softmax_scale_of(const RowWidths& widths);

// All that the tensors of a step depend on: two steps with equal ones have equal tensors.
struct TensorSpec {
  DtypePair dtype;
  RowWidths widths;
  Fp8Variant variant = Fp8Variant::e4m3fn;
  float q_scale = 1;  // 1 unless fp8
  float kv_scale = 1;
  std::int64_t heads = 0;
  DataSpec data;
  std::vector<RequestSpec> requests;  // with the graph padding
  std::uint64_t shared_blocks = 0;    // of each request, at its beginning
  std::int64_t block_size = 1;
  std::vector<std::int32_t> block_table;  // [requests, columns]
  std::int64_t columns = 0;
  std::int64_t first_block = 0;
  std::int64_t cache_blocks = 0;
  bool operator==(const TensorSpec&) const = default;
};
TensorSpec tensor_spec(const Case& c, const Batch& batch);

DecodeTensors make_tensors(const TensorSpec& spec);
inline DecodeTensors make_tensors(const Case& c, const Batch& batch) {
  return make_tensors(tensor_spec(c, batch));
}

// Elements of Q and cache whose |value / scale| exceeds the largest finite fp8. None at scale 1.
std::int64_t saturated_elements(const Case& c, const Batch& batch);

}  // namespace mla::prop
